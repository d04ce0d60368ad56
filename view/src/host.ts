// The host of an MCP App: JSON-RPC 2.0 over `postMessage`, by the specification of 2026-01-26 (extension `io.modelcontextprotocol/ui`).
//
// The official class `App` does the same in 542 KB, and validates every message. Here each message is parsed where it is used, and unknown
// ones are ignored.

import { isObject, type Loose } from "./story.ts";

export const PROTOCOL = "2026-01-26";

export class HostError extends Error {}
/** The host did not answer in time. */
export class HostSilent extends Error {}

export interface Host {
  request(method: string, params: Loose, seconds: number): Promise<Loose>;
  notify(method: string, params?: Loose): void;
}

/** Connects to the parent window. `hear` gets each notification; `asked` answers requests, or returns undefined for an unknown method. */
export function connect(hear: (method: string, params: Loose) => void, asked: (method: string) => Loose | undefined): Host {
  const waiting = new Map<number, { done: (result: Loose) => void; failed: (error: Error) => void }>();
  let lastId = 0;
  const parent = window.parent;
  const send = (message: Loose) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  window.addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
    if (source !== parent || !isObject(data) || data["jsonrpc"] !== "2.0") return;
    const { id, method } = data;
    if (typeof method === "string") {
      const params = isObject(data["params"]) ? data["params"] : {};
      if (id === undefined) return hear(method, params);
      const result = asked(method);
      return send(result ? { id, result } : { id, error: { code: -32601, message: `no such method: ${method}` } });
    }
    // A second answer, or one that comes too late, is ignored.
    const call = typeof id === "number" ? waiting.get(id) : undefined;
    if (!call) return;
    waiting.delete(id as number);
    if (isObject(data["result"])) call.done(data["result"]);
    else call.failed(new HostError(isObject(data["error"]) && typeof data["error"]["message"] === "string" ? data["error"]["message"] : "error"));
  });

  return {
    notify: (method, params = {}) => send({ method, params }),
    request: (method, params, seconds) =>
      new Promise((done, failed) => {
        const id = (lastId += 1);
        waiting.set(id, { done, failed });
        setTimeout(() => waiting.delete(id) && failed(new HostSilent(method)), seconds * 1_000);
        send({ id, method, params });
      }),
  };
}
