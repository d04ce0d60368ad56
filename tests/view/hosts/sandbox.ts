// The sandbox that stands between `@mcp-ui/client` and the view, by the specification: it puts the page into a frame of its own, and passes on
// what both say.

let inner: HTMLIFrameElement | undefined;

addEventListener("message", ({ source, data }: MessageEvent<{ method?: string; params?: { html?: string; sandbox?: string } }>) => {
  if (source === parent && data?.method === "ui/notifications/sandbox-resource-ready") {
    inner?.remove();
    inner = document.createElement("iframe");
    inner.title = "view";
    inner.id = "view";
    inner.setAttribute("sandbox", "allow-scripts");
    inner.style.cssText = "border:0;width:100%;height:100%";
    inner.srcdoc = data.params?.html ?? "";
    document.body.append(inner);
  } else if (source === parent) inner?.contentWindow?.postMessage(data, "*");
  else if (source === inner?.contentWindow) parent.postMessage(data, "*");
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
