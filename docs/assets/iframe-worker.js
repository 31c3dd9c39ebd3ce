// A page that is opened from disk may not start a worker. There, the search runs in a hidden frame
// of the same page instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      const early = []
      this.postMessage = (data) => early.push(data)
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        this.onmessage?.(event)
      }
      const tell = (data) => inside.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = () => undefined
      const script = inside.document.createElement("script")
      script.src = url
      script.onload = () => {
        this.postMessage = tell
        early.forEach(tell)
      }
      inside.document.body.append(script)
      this.terminate = () => frame.remove()
    }
  }
}
