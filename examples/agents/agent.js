// Counts the words of a file, line by line, as an agent that paddock can stop at any time.
//
// node agent.js FILE [PAUSE_S] [MB]: PAUSE_S and MB stand for the work that a real agent has with
// each line, and for what it would like to keep in memory of it.
"use strict";
const fs = require("fs");
const readline = require("readline");

const env = process.env;
const [file, pause = "0", mb = "0"] = process.argv.slice(2);
const kept = env.PADDOCK_CHECKPOINT_DIR && `${env.PADDOCK_CHECKPOINT_DIR}/kept.json`;

// Node takes no SIGUSR1 (it would open a debugger's port) and paddock sends it none: the files say
// the same as the signals.
const isThere = (path) => Boolean(path) && fs.existsSync(path);
const timeIsShort = () => isThere(env.PADDOCK_SOFT_TIMEOUT);
const checkpointAsked = () => isThere(env.PADDOCK_CHECKPOINT_REQUEST);

function say(text) {
  fs.writeSync(1, `${text}\n`); // at once: what Node has buffered is lost when it is killed
}

function numberIn(path) {
  try {
    const text = fs.readFileSync(path, "utf8").trim();
    return /^[0-9]{1,17}$/.test(text) ? Number(text) : null; // null also for max
  } catch {
    return null;
  }
}

// The nearest cgroup above with a limit (v2, then v1); without one, this process and what paddock said.
function findWall() {
  const stated = Number(env.PADDOCK_MEMORY_LIMIT || 0);
  for (const line of fs.readFileSync("/proc/self/cgroup", "utf8").trim().split("\n")) {
    const [, kind, path] = line.split(":");
    const isV2 = kind === "";
    if (!isV2 && !kind.split(",").includes("memory")) continue;
    const mount = isV2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (let below = path; ; below = below.slice(0, below.lastIndexOf("/"))) {
      const limit = numberIn(`${mount}${below}/${isV2 ? "memory.max" : "memory.limit_in_bytes"}`);
      // One that allows more than paddock does is somebody else's.
      if (limit && (!stated || limit <= stated)) {
        const used = `${mount}${below}/${isV2 ? "memory.current" : "memory.usage_in_bytes"}`;
        return { limit, used, high: numberIn(`${mount}${below}/memory.high`) };
      }
      if (limit || below.replace("/", "") === "") break;
    }
  }
  return { limit: stated, used: null, high: null };
}
const wall = findWall();

function shouldReduceMemory() {
  if (!wall.limit) return false;
  const used = wall.used ? numberIn(wall.used) : process.memoryUsage.rss();
  // Above memory.high the kernel all but stops a program.
  return used >= wall.limit * 0.8 || Boolean(wall.high && used >= wall.high * 0.95);
}

function keep(state) {
  if (!kept) return;
  const descriptor = fs.openSync(`${kept}.new`, "w");
  fs.writeSync(descriptor, JSON.stringify(state));
  fs.fsyncSync(descriptor);
  fs.closeSync(descriptor);
  fs.renameSync(`${kept}.new`, kept); // a kill before this leaves the old file as it was
}

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function main() {
  let { done, words } = isThere(kept) ? JSON.parse(fs.readFileSync(kept, "utf8")) : { done: 0, words: 0 };
  keep({ done, words }); // says that this program knows of checkpoints
  if (env.PADDOCK_RESUME === "1") say(`goes on after line ${done}`);
  let cache = [];
  let number = 0;
  // Line by line: it may be larger than the memory.
  for await (const line of readline.createInterface({ input: fs.createReadStream(file) })) {
    number += 1;
    if (number <= done) continue;
    if (shouldReduceMemory() && cache.length > 0) {
      say(`lets go of ${cache.length * Number(mb)} MB`);
      cache = [];
      global.gc?.(); // with --expose-gc the memory comes back at once
    }
    cache.push(Buffer.alloc(Number(mb) << 20, 1));
    words += line.split(/\s+/).filter(Boolean).length;
    await sleep(Number(pause));
    done = number;
    say(`line ${done}`);
    if (checkpointAsked()) {
      say(`makes room after line ${done}`); // first: the answer may be its end
      keep({ done, words });
      fs.writeFileSync(env.PADDOCK_CHECKPOINT_WRITTEN, "");
      await sleep(60); // waits for its end: what it did now, the attempt after it would do once more
    }
    if (timeIsShort()) {
      say(`time is short: ${words} words in the first ${done} lines`);
      return;
    }
  }
  say(`${words} words in ${done} lines`);
}

main();
