// A host of MCP Apps, as a client would be: the official client and bridge, and the view in a sandboxed frame.

import { AppBridge, PostMessageTransport, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport, type CallToolResult, type Tool } from "@modelcontextprotocol/client";
import { RelayTransport, type Started, type Told } from "./relay.ts";

const told: Told = { context: [], tools: [] };

async function start(kind: "stdio" | "http"): Promise<Started> {
  const client = new Client(
    { name: "official-host", version: "1" },
    // `server/discover` first, and `initialize` where a server does not know it; what the client can is then in each request.
    { versionNegotiation: { mode: "auto" }, capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } } as never },
  );
  await client.connect(kind === "http" ? new StreamableHTTPClientTransport(new URL("/mcp", location.href)) : (new RelayTransport() as never));
  const { tools } = await client.listTools();
  told.tools = tools;
  return {
    told,
    call: async (name, given) => {
      const result = (await client.callTool({ name, arguments: given })) as CallToolResult;
      await show(client, tools.find((tool) => tool.name === name)!, given, result);
      return result;
    },
  };
}

/** Shows the view of a tool, as the specification says: the page, the input, the result. */
async function show(client: Client, tool: Tool, given: Record<string, unknown>, result: CallToolResult): Promise<void> {
  const uri = getToolUiResourceUri(tool);
  if (uri === undefined) return;
  const { contents } = await client.readResource({ uri });
  const page = contents[0];
  if (!page || !("text" in page)) throw new Error("no page");
  document.querySelector("iframe")?.remove();
  const frame = document.createElement("iframe");
  frame.id = "view";
  frame.title = "view";
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = "border:0;width:100%;height:600px";
  document.body.append(frame);
  // The host's capabilities: tools of the server, and news for the model.
  const bridge = new AppBridge(client, { name: "official-host", version: "1" }, { serverTools: {}, updateModelContext: { text: {} } }, { hostContext: { theme: "light", displayMode: "inline" } });
  bridge.onupdatemodelcontext = async ({ content }) => {
    told.context.push(JSON.stringify(content));
    return {};
  };
  bridge.onsizechange = ({ height }) => {
    if (height !== undefined) frame.style.height = `${height}px`;
  };
  bridge.oninitialized = () => {
    void bridge.sendToolInput({ arguments: given });
    void bridge.sendToolResult(result);
  };
  await bridge.connect(new PostMessageTransport(frame.contentWindow!, frame.contentWindow!) as never);
  frame.srcdoc = page.text;
}

(window as unknown as { start: typeof start }).start = start;
