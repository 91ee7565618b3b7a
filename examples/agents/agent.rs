// Counts the words of a file, line by line, as an agent that paddock can stop at any time.
//
// rustc -O agent.rs && ./agent FILE [PAUSE_S] [MB]: PAUSE_S and MB stand for the work that a real
// agent has with each line, and for what it would like to keep in memory of it.
use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

static TIME_IS_SHORT: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

// Without a crate; with one, `signal-hook` does the same.
extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}
const SIGUSR1: i32 = 10;
const SIGUSR2: i32 = 12;

extern "C" fn heard(number: i32) {
    let flag = if number == SIGUSR1 { &TIME_IS_SHORT } else { &ASKED };
    flag.store(true, Ordering::SeqCst);
}

/// A signal may have come before its handler was there: the file says the same.
fn is_so(flag: &AtomicBool, variable: &str) -> bool {
    flag.load(Ordering::SeqCst) || env::var(variable).is_ok_and(|path| Path::new(&path).exists())
}

fn number_in(path: &str) -> Option<u64> {
    // None also for `max`, and for v1's number that no machine has.
    fs::read_to_string(path).ok()?.trim().parse().ok().filter(|&found| found < 1 << 60)
}

struct Wall {
    limit: Option<u64>,
    high: Option<u64>,
    used_file: Option<String>,
}

impl Wall {
    /// The nearest cgroup above with a limit (v2, then v1); without one, this process and what
    /// paddock said.
    fn find() -> Wall {
        let stated = env::var("PADDOCK_MEMORY_LIMIT").ok().and_then(|text| text.parse().ok());
        for line in fs::read_to_string("/proc/self/cgroup").unwrap_or_default().lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (kind, path) = (parts.next().unwrap_or("?"), parts.next().unwrap_or(""));
            let (mount, limit_file, used_file) = match kind {
                "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
                _ if kind.split(',').any(|name| name == "memory") => {
                    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
                }
                _ => continue,
            };
            let mut below = path;
            loop {
                if let Some(limit) = number_in(&format!("{mount}{below}/{limit_file}")) {
                    // One that allows more than paddock does is somebody else's.
                    if stated.map_or(true, |most| limit <= most) {
                        let high = number_in(&format!("{mount}{below}/memory.high"));
                        let used_file = Some(format!("{mount}{below}/{used_file}"));
                        return Wall { limit: Some(limit), high, used_file };
                    }
                    break;
                }
                match below.rfind('/') {
                    Some(end) => below = &below[..end],
                    None => break,
                }
            }
        }
        Wall { limit: stated, high: None, used_file: None }
    }

    fn used(&self) -> u64 {
        if let Some(file) = &self.used_file {
            return number_in(file).unwrap_or(0);
        }
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages: Vec<u64> = statm.split(' ').filter_map(|word| word.parse().ok()).collect();
        pages.get(1).zip(pages.get(2)).map_or(0, |(resident, shared)| (resident - shared) * 4096)
    }

    fn should_reduce_memory(&self) -> bool {
        let used = self.used();
        // Above memory.high the kernel all but stops a program.
        self.limit.is_some_and(|limit| used >= limit / 10 * 8)
            || self.high.is_some_and(|high| used >= high / 100 * 95)
    }
}

struct Kept(Option<String>);

impl Kept {
    fn load(&self) -> (u64, u64) {
        let text = self.0.as_ref().and_then(|path| fs::read_to_string(path).ok());
        let text = text.unwrap_or_default();
        let mut numbers = text.split(' ').filter_map(|word| word.parse().ok());
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    /// Beside it first: a kill in the middle leaves the old file as it was.
    fn keep(&self, done: u64, words: u64) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let fresh = format!("{path}.new");
        let mut file = File::create(&fresh)?;
        write!(file, "{done} {words}")?;
        file.sync_all()?;
        fs::rename(fresh, path)
    }
}

fn main() -> io::Result<()> {
    unsafe {
        signal(SIGUSR1, heard);
        signal(SIGUSR2, heard);
    }
    let given: Vec<String> = env::args().skip(1).collect();
    let pause_s = given.get(1).map_or(0.0, |text| text.parse().expect("PAUSE_S is a number"));
    let mb = given.get(2).map_or(0, |text| text.parse().expect("MB is a number"));
    let wall = Wall::find();
    let kept = Kept(env::var("PADDOCK_CHECKPOINT_DIR").ok().map(|dir| format!("{dir}/kept")));
    let (mut done, mut words) = kept.load();
    if env::var("PADDOCK_RESUME").is_ok_and(|said| said == "1") {
        println!("goes on after line {done}");
    }
    let mut cache: Vec<Vec<u8>> = Vec::new();
    // Line by line: it may be larger than the memory.
    for (number, line) in (1..).zip(BufReader::new(File::open(&given[0])?).lines()) {
        if number <= done {
            continue;
        }
        if wall.should_reduce_memory() && !cache.is_empty() {
            println!("lets go of {} MB", cache.len() * mb);
            cache.clear();
        }
        cache.push(vec![1; mb << 20]);
        words += line?.split_whitespace().count() as u64;
        sleep(Duration::from_secs_f64(pause_s));
        done = number;
        println!("line {done}");
        if is_so(&ASKED, "PADDOCK_CHECKPOINT_REQUEST") {
            println!("makes room after line {done}"); // first: the answer may be its end
            kept.keep(done, words)?;
            if let Ok(path) = env::var("PADDOCK_CHECKPOINT_WRITTEN") {
                File::create(path)?;
            }
            sleep(Duration::from_secs(60)); // waits for its end: what it did now, the attempt
                                            // after it would do once more
        }
        if is_so(&TIME_IS_SHORT, "PADDOCK_SOFT_TIMEOUT") {
            println!("time is short: {words} words in the first {done} lines");
            return Ok(());
        }
    }
    println!("{words} words in {done} lines");
    Ok(())
}
