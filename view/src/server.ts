// The client of the loopback server of `history --web`: JSON over HTTP with a secret.

import { isObject, type Loose } from "./story.ts";
import { T } from "./text.ts";

/** The server refused; the message is its reason, and `body` the whole reply. */
export class Refused extends Error {
  body: Loose;
  constructor(message: string, body: Loose) {
    super(message);
    this.body = body;
  }
}

const KEPT = "mcp-text-editor-secret";

export interface Server {
  get(path: string, query?: Record<string, string | undefined>): Promise<Loose>;
  post(path: string, body: Loose): Promise<Loose>;
  /** Calls `now` with what is new until the page is closed, and `state` with whether the server can be reached. */
  watch(now: (now: Loose) => void, state: (live: boolean) => void): void;
}

/**
 * Exchanges the one-time code in the link for a secret. Only this tab keeps the secret, over reloads, too. The code is removed from the URL
 * before anything else happens.
 */
export async function open(): Promise<Server> {
  const code = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  let secret = "";
  if (code !== "") {
    const { secret: given } = await ask(code, "POST", "/api/session");
    if (typeof given === "string") secret = given;
    sessionStorage.setItem(KEPT, secret);
  } else secret = sessionStorage.getItem(KEPT) ?? "";
  if (secret === "") throw new Error(T.unauthorised);

  return {
    get: (path, query = {}) => {
      const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
      return ask(secret, "GET", given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path);
    },
    post: (path, body) => ask(secret, "POST", path, body),
    watch: (now, state) => void watch(secret, now, state),
  };
}

async function ask(token: string, method: string, path: string, body?: Loose): Promise<Loose> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
  if (body) headers["Content-Type"] = "application/json";
  const reply = await fetch(path, { method, headers, cache: "no-store", ...(body && { body: JSON.stringify(body) }) }).catch(() => undefined);
  if (!reply) throw new Error(T.ended);
  if (reply.status === 401) throw new Error(T.unauthorised);
  const said: unknown = await reply.json().catch(() => ({}));
  const read = isObject(said) ? said : {};
  if (reply.ok) return read;
  const error = isObject(read["error"]) ? read["error"] : {};
  throw new Refused([error["reason"], error["hint"]].filter((part) => typeof part === "string").join(" ") || `HTTP ${reply.status}`, read);
}

/** Asks every second what is new, and less often while the server cannot be reached. */
async function watch(secret: string, now: (now: Loose) => void, state: (live: boolean) => void): Promise<void> {
  for (let wait = 1_000; ; ) {
    try {
      now(await ask(secret, "GET", "/api/now"));
      state(true);
      wait = 1_000;
    } catch (error) {
      state(false);
      if (error instanceof Error && error.message === T.unauthorised) return;
      wait = Math.min(wait * 2, 10_000);
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}
