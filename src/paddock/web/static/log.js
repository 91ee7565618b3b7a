// What an agent wrote. Lines are text nodes: whatever is in them, nothing of it is markup.
// Colours are the sixteen of a terminal, as classes; all other signs were taken out before.
const SGR = /\x1b\[([0-9;:]*)m/;

export default {
  template: `
    <div class="pd-log">
      <div class="pd-bar">
        <input class="pd-input" type="search" v-model="text" placeholder="Find in the log"
          aria-label="Find in the log" @input="narrow">
        <span class="pd-dim" aria-live="polite">{{ found }}</span>
        <button type="button" class="pd-button" :aria-pressed="following" @click="follow">
          {{ following ? "Following" : "Follow" }}</button>
      </div>
      <div class="pd-lines" ref="lines" tabindex="0" role="log" aria-label="Output" @scroll="scrolled"></div>
    </div>`,
  props: { most: { type: Number, default: 2000 } },
  data() {
    return { text: "", found: "", following: true };
  },
  created() {
    this.last = null; // the line that has not ended
    this.classes = "";
  },
  methods: {
    append(text) {
      const box = this.$refs.lines;
      const fresh = document.createDocumentFragment();
      const parts = text.split("\n");
      parts.forEach((part, number) => {
        if (number > 0) this.last = null;
        if (!part && number === parts.length - 1) return;
        if (!this.last) {
          this.last = document.createElement("div");
          fresh.append(this.last);
        }
        this.write(this.last, part);
        this.last.hidden = !this.fits(this.last);
      });
      if (text.endsWith("\n")) this.last = null;
      box.append(fresh);
      while (box.childElementCount > this.most) box.firstElementChild.remove();
      if (this.text) this.count();
      if (this.following) box.scrollTop = box.scrollHeight;
    },
    note(text) {
      const line = document.createElement("div");
      line.className = "note";
      line.textContent = text;
      this.last = null;
      this.$refs.lines.append(line);
      if (this.following) this.$refs.lines.scrollTop = this.$refs.lines.scrollHeight;
    },
    clear() {
      this.$refs.lines.replaceChildren();
      this.last = null;
    },
    write(line, text) {
      const parts = text.split(SGR); // text, codes, text, codes, …
      parts.forEach((part, number) => {
        if (number % 2) this.colour(part);
        else if (part && this.classes) {
          const span = document.createElement("span");
          span.className = this.classes;
          span.textContent = part;
          line.append(span);
        } else if (part) line.append(document.createTextNode(part));
      });
    },
    colour(codes) {
      let kept = new Set(this.classes.split(" ").filter(Boolean));
      for (const code of (codes || "0").split(/[;:]/).map(Number)) {
        if (code === 0) kept = new Set();
        else if (code === 1) kept.add("bold");
        else if (code === 22) kept.delete("bold");
        else if (code === 39 || (code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
          for (const name of kept) if (name.startsWith("f")) kept.delete(name);
          if (code !== 39) kept.add("f" + (code % 10) + (code >= 90 ? " fb" : ""));
        } else if (code === 38 || code === 48) break; // more colours than there are classes
      }
      this.classes = [...kept].join(" ");
    },
    fits(line) {
      return !this.text || line.textContent.toLowerCase().includes(this.text.toLowerCase());
    },
    narrow() {
      for (const line of this.$refs.lines.children) line.hidden = !this.fits(line);
      this.count();
    },
    count() {
      const count = [...this.$refs.lines.children].filter((line) => !line.hidden).length;
      this.found = this.text ? `${count} lines` : "";
    },
    follow() {
      this.following = !this.following;
      if (this.following) this.$refs.lines.scrollTop = this.$refs.lines.scrollHeight;
    },
    scrolled() {
      const box = this.$refs.lines;
      this.following = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    },
  },
};
