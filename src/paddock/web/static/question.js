// A question before something is done, in the browser's own modal dialog: nothing behind it can be
// reached meanwhile, Escape closes it, and the focus goes back to the button that asked.
export default {
  template: `
    <dialog class="pd-card pd-dialog" ref="box" aria-labelledby="pd-asked" aria-describedby="pd-asked-words"
      @keydown.tab="stay" @click.self="close">
      <div class="pd-dialog-in">
        <h2 id="pd-asked">{{ title }}</h2>
        <p class="pd-dim" id="pd-asked-words">{{ words }}</p>
        <div class="pd-actions end">
          <button type="button" class="pd-button" @click="close">Leave it</button>
          <button type="button" class="pd-button danger" @click="agree">{{ yes }}</button>
        </div>
      </div>
    </dialog>`,
  emits: ["agreed"],
  data() {
    return { title: "", words: "", yes: "" };
  },
  methods: {
    open(title, words, yes) {
      Object.assign(this, { title, words, yes });
      // What does no harm has the focus: the first button.
      if (!this.$refs.box.open) this.$refs.box.showModal();
    },
    close() {
      this.$refs.box.close();
    },
    agree() {
      this.close();
      this.$emit("agreed");
    },
    // From the last one a browser would go on to its own bars, and from there to nowhere on a page that is inert.
    stay(event) {
      const all = [...this.$refs.box.querySelectorAll("button")];
      const [from, to] = event.shiftKey ? [all[0], all[all.length - 1]] : [all[all.length - 1], all[0]];
      if (document.activeElement !== from) return;
      event.preventDefault();
      to.focus();
    },
  },
};
