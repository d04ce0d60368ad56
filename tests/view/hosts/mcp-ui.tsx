// A second host: `@mcp-ui/client`, with its own version of the bridge and the SDK of the first generation.

import { AppRenderer } from "@mcp-ui/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createRoot } from "react-dom/client";
import { RelayTransport, type Started, type Told } from "./relay.ts";

const told: Told = { context: [], tools: [] };

async function start(kind: "stdio" | "http"): Promise<Started> {
  const client = new Client(
    { name: "mcp-ui-host", version: "1" },
    { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } } as never },
  );
  await client.connect((kind === "http" ? new StreamableHTTPClientTransport(new URL("/mcp", location.href)) : new RelayTransport()) as never);
  told.tools = (await client.listTools()).tools;
  const root = createRoot(document.getElementById("host")!);
  return {
    told,
    call: async (name, given) => {
      const result = await client.callTool({ name, arguments: given });
      root.render(
        <AppRenderer
          key={JSON.stringify(result)}
          client={client}
          toolName={name}
          toolInput={given}
          toolResult={result as never}
          sandbox={{ url: new URL("/sandbox", location.href) }}
          hostContext={{ theme: "light", displayMode: "inline" }}
          hostCapabilities={{ serverTools: {}, updateModelContext: { text: {} } }}
          onFallbackRequest={async (request) => {
            if (request.method === "ui/update-model-context") told.context.push(JSON.stringify(request.params));
            return {};
          }}
          // It tells its view of its theme before they are connected, and complains of that itself.
          onError={(error) => console.warn(String(error))}
        />,
      );
      return result;
    },
  };
}

(window as unknown as { start: typeof start }).start = start;
