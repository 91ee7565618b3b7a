// The table of agents: sorted and narrowed here, so that typing never waits for the server.
// Everything an agent could have written goes through {{ }}, which makes text of it.
const PHASES = [["work", "At work"], ["waiting", "Waiting"], ["ended", "Ended"], ["all", "All"]];
const COLUMNS = [
  ["name", "Agent"], ["state", "State"], ["bytes", "Memory of its wall"], ["cpu", "CPU"],
  ["priority", "Priority"], ["since", "For"],
];
const URGENCY = { critical: 0, high: 1, normal: 2, low: 3 };

export default {
  template: `
    <div class="pd-agents">
      <div class="pd-bar">
        <div class="pd-tabs" role="tablist" aria-label="Which agents" ref="tabs"
          @keydown.left.prevent="step(-1)" @keydown.right.prevent="step(1)">
          <button v-for="[key, word] in phases" :key="key" type="button" role="tab"
            :aria-selected="phase === key" :tabindex="phase === key ? 0 : -1"
            :class="{ on: phase === key }" @click="phase = key">
            {{ word }} <span class="pd-count">{{ counts[key] }}</span>
          </button>
        </div>
        <input class="pd-input" type="search" v-model="text" placeholder="Filter by name, group, state"
          aria-label="Filter agents" ref="filter">
      </div>
      <div class="pd-card pd-table-card">
        <table class="pd-table" aria-label="Agents">
          <thead><tr>
            <th v-for="[key, word] in columns" :key="key" :class="'c-' + key"
              :aria-sort="by === key ? (down ? 'descending' : 'ascending') : 'none'">
              <button type="button" @click="sort(key)">{{ word }}<span aria-hidden="true">{{
                by === key ? (down ? " ↓" : " ↑") : "" }}</span></button>
            </th>
            <th class="c-why">Group, or why</th>
          </tr></thead>
          <tbody>
            <tr v-for="row in visible" :key="row.id">
              <td class="c-name"><a :href="top + '/agents/' + row.id">{{ row.name }}</a>
                <small>{{ row.id }}</small></td>
              <td class="c-state"><span class="pd-chip" :class="row.tone">{{ row.state }}</span></td>
              <td class="c-bytes"><div class="pd-meter" v-if="row.percent !== null">
                  <i :style="{ width: row.percent + '%' }" :class="heat(row.percent)"></i></div>
                <span class="pd-num">{{ row.memory }}<em v-if="row.memory"> / </em>{{ row.limit }}</span></td>
              <td class="c-cpu pd-num">{{ row.cpu === null ? "" : row.cpu + " %" }}</td>
              <td class="c-priority">{{ row.priority }}</td>
              <td class="c-since pd-num">{{ row.age }}</td>
              <td class="c-why" :title="row.why || row.group">{{ row.why || row.group }}</td>
            </tr>
          </tbody>
        </table>
        <p class="pd-empty" v-if="!visible.length">{{ empty }}</p>
        <p class="pd-empty" v-if="hidden">and {{ hidden }} more: narrow them with the filter</p>
      </div>
    </div>`,
  props: { rows: { type: Array, default: () => [] }, most: { type: Number, default: 500 } },
  data() {
    return { phase: "work", text: "", by: "", down: true, phases: PHASES, columns: COLUMNS, top: "" };
  },
  mounted() {
    // Set once the page is there: the path below which everything lies.
    setTimeout(() => { this.top = window.path_prefix || ""; }, 0);
    this.onKey = (event) => {
      if (event.key === "/" && !/INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName)) {
        event.preventDefault();
        this.$refs.filter.focus();
      }
    };
    window.addEventListener("keydown", this.onKey);
  },
  beforeUnmount() {
    window.removeEventListener("keydown", this.onKey);
  },
  computed: {
    counts() {
      const counts = { work: 0, waiting: 0, ended: 0, all: this.rows.length };
      for (const row of this.rows) counts[row.phase]++;
      return counts;
    },
    found() {
      const words = this.text.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = this.rows.filter((row) => {
        if (this.phase !== "all" && row.phase !== this.phase) return false;
        const all = `${row.name} ${row.id} ${row.group} ${row.state} ${row.priority}`.toLowerCase();
        return words.every((word) => all.includes(word));
      });
      if (!this.by) return rows;
      const value = (row) => (this.by === "priority" ? URGENCY[row.priority] : row[this.by]) ?? -1;
      const sign = this.down ? -1 : 1;
      return rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
      });
    },
    visible() {
      return this.found.slice(0, this.most);
    },
    hidden() {
      return this.found.length - this.visible.length;
    },
    empty() {
      if (this.text) return "No agent fits the filter.";
      return { work: "No agent is at work.", waiting: "Nothing waits.", ended: "Nothing has ended yet.",
        all: "No agents yet: paddock run -- COMMAND starts one." }[this.phase];
    },
  },
  methods: {
    sort(key) {
      if (this.by === key) this.down = !this.down;
      else [this.by, this.down] = [key, key === "bytes" || key === "cpu"];
    },
    step(by) {
      const at = PHASES.findIndex(([key]) => key === this.phase);
      const to = (at + by + PHASES.length) % PHASES.length;
      this.phase = PHASES[to][0];
      this.$refs.tabs.children[to].focus();
    },
    heat(percent) {
      return percent >= 90 ? "hot" : percent >= 75 ? "warm" : "";
    },
  },
};
