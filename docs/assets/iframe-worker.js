// Browsers refuse web workers on pages opened from the disk, and the search runs in one. There its
// script runs in a hidden frame instead. Zensical would load a shim of this name from the network.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = `<script src="${new URL(url, document.baseURI)}"><\/script>`;
      this.ready = new Promise((resolve) => {
        this.frame.addEventListener("load", () => {
          const inside = this.frame.contentWindow;
          inside.postMessage = (data) => this.onmessage?.(new MessageEvent("message", { data }));
          resolve(inside);
        });
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
