// The page as an MCP App in a chat. The host reports a tool call, which the page shows; the page calls the server through the host.

import { button, fill, h, icon, put, type Child } from "./dom.ts";
import { card, NoAnswer, type Card, type Desk } from "./card.ts";
import type { Layout } from "./diff.ts";
import { tags } from "./edits.ts";
import { block } from "./glyphs.ts";
import { connect, HostSilent, PROTOCOL } from "./host.ts";
import { isObject, list, readEdit, readStory, type Edit, type Loose, type Story } from "./story.ts";
import { T, clock, use } from "./text.ts";

const STORY = "mcp-text-editor/story";
const SHOW = "show_text_file_edit";
const LIST = "list_shown_text_file_edits";
const TAKE_BACK = "take_back_text_file_edit";
/** The longest wait for an answer, in seconds. A call that changes files may wait for a lock, and for the user's consent. */
const SOON = 10;
const LONG = 60;
/** The least width, in pixels, of a layout with two columns. */
const WIDE = 860;

export function app(root: HTMLElement): void {
  let context: Loose = {};
  let capabilities: Loose = {};
  let given: Loose = {};
  let shown: Card | undefined;
  let result: Loose | undefined;

  const host = connect(hear, (method) => (method === "ping" || method === "ui/resource-teardown" ? {} : undefined));

  function hear(method: string, params: Loose): void {
    if (method === "ui/notifications/tool-input" && isObject(params["arguments"])) given = params["arguments"];
    else if (method === "ui/notifications/tool-input-partial") result ?? waiting(T.waitingForEdit);
    else if (method === "ui/notifications/tool-result") showResult(params);
    else if (method === "ui/notifications/tool-cancelled") result ?? waiting(T.cancelled);
    else if (method === "ui/notifications/host-context-changed") follow(params);
  }

  const waiting = (text: string) => fill(root, h("p", { class: "waiting", role: "status" }, text));

  /** Calls a tool of the server. Throws `NoAnswer` if the host does not answer in time. */
  async function call(name: string, given: Loose, seconds: number): Promise<Loose> {
    try {
      return await host.request("tools/call", { name, arguments: given }, seconds);
    } catch (error) {
      throw error instanceof HostSilent ? new NoAnswer() : error;
    }
  }

  /** The proofs from earlier replies that allow this view to show and undo edits, by their ids, and those of its session. */
  const allowed = new Map<string, string>();
  const learn = (edit: Edit | undefined) => Object.entries(edit?.capabilities ?? {}).forEach(([id, capability]) => allowed.set(id, capability));
  const named = (id: string): Loose => ({ edit_id: id, capability: allowed.get(id) ?? "" });

  function storyOf(reply: Loose): Story | undefined {
    const found = readStory(isObject(reply["_meta"]) ? reply["_meta"][STORY] : undefined) ?? readStory(reply["structuredContent"]);
    learn(found?.edit);
    return found;
  }

  async function story(name: string, given: Loose, seconds: number): Promise<Story> {
    const reply = await call(name, given, seconds);
    const found = storyOf(reply);
    if (!found) throw new Error(textOf(reply) || T.noHost);
    return found;
  }

  const desk: Desk = {
    show: (id) => story(SHOW, named(id), SOON),
    takeBack: (id) => story(TAKE_BACK, named(id), LONG),
    apply: ({ tool }) => {
      const { dry_run: _, ...rest } = tool?.arguments ?? given;
      return story(tool?.name ?? "", rest, LONG);
    },
    tell: async (what, id, paths) => {
      if (!isObject(capabilities["updateModelContext"])) return false;
      return host.request("ui/update-model-context", { content: [{ type: "text", text: T.toModel(what, id, paths) }] }, SOON).then(
        () => true,
        () => false,
      );
    },
  };

  function showResult(params: Loose): void {
    // If the host reports the same call twice, the page stays as it is.
    if (result && JSON.stringify(result) === JSON.stringify(params)) return;
    result = params;
    const found = storyOf(params);
    if (found) return display(found);
    fill(root, h("div", { class: "card" }, h("p", { class: "waiting", role: "status" }, T.noStory), block(textOf(params), T.noStory)));
  }

  const canCall = () => isObject(capabilities["serverTools"]);

  function layout(): Layout {
    const inline = context["displayMode"] !== "fullscreen";
    return { split: root.clientWidth >= WIDE, fold: inline ? 60 : 400 };
  }

  function display(story: Story): void {
    const options = { desk: canCall() ? desk : undefined, go: canCall() ? go : undefined };
    shown = card(story, { layout: layout(), buttons: frameButtons, ...options });
    fill(root, shown.element, canCall() && earlier(story.edit?.id));
    relaid = layout();
  }

  /** The edits that this view may show. */
  async function edits(): Promise<Edit[]> {
    const { structuredContent } = await call(LIST, { capabilities: Object.fromEntries(allowed) }, SOON);
    const found = list(isObject(structuredContent) ? structuredContent["edits"] : undefined, readEdit);
    found.forEach(learn);
    return found;
  }

  const go = async (id: string): Promise<void> => {
    // The later edit may be one of the session's.
    if (!allowed.has(id)) await edits().catch(() => undefined);
    const below = await desk.show(id).then((found) => card(found, { layout: layout(), desk, heading: "h2" }).element, failed);
    put(root, below);
    below.scrollIntoView({ block: "nearest" });
  };

  const failed = (error: unknown) => h("p", { class: "status bad" }, error instanceof Error && error.message ? error.message : T.noHost);

  /** The button that switches to the larger view and back, if the host has both. */
  function frameButtons(): Child[] {
    const modes = Array.isArray(context["availableDisplayModes"]) ? context["availableDisplayModes"] : [];
    const next = context["displayMode"] === "fullscreen" ? "inline" : "fullscreen";
    if (!modes.includes(next)) return [];
    return [button(next === "inline" ? T.showInline : T.showWhole, () => void host.request("ui/request-display-mode", { mode: next }, LONG).then(
      ({ mode }) => follow({ displayMode: mode }),
      () => undefined,
    ), "quiet-button", [icon("wide")])];
  }

  /** The other edits of the session, newest first; each opens in place. */
  function earlier(current: string | undefined): HTMLElement {
    const items = h("ul", { class: "edits" });
    const element = h("details", { class: "earlier" }, h("summary", {}, T.earlier), items);
    element.addEventListener("toggle", () => {
      if (!element.open || items.childElementCount > 0) return;
      put(items, h("li", { class: "quiet pad" }, T.loading));
      edits().then(
        (all) => {
          const others = all.filter(({ id }) => id !== current);
          fill(items, ...(others.length > 0 ? others.map(item) : [h("li", { class: "quiet pad" }, T.noEarlier)]));
        },
        () => {
          fill(items);
          element.open = false;
        },
      );
    });
    return element;
  }

  function item(edit: Edit): HTMLElement {
    const inside = h("div", {});
    const element = h(
      "details",
      {},
      h("summary", {}, h("time", { attrs: { datetime: edit.time } }, clock(edit.time)), ` ${edit.tool}`, ...tags(edit)),
      inside,
    );
    element.addEventListener("toggle", () => {
      if (!element.open || inside.childElementCount > 0) return;
      put(inside, h("p", { class: "quiet pad" }, T.loading));
      desk.show(edit.id).then(
        (found) => fill(inside, card(found, { layout: layout(), desk, heading: "h2" }).element),
        (error: unknown) => fill(inside, failed(error)),
      );
    });
    return h("li", {}, element);
  }

  /** Adopts the appearance of the host. Settings that it does not send stay. */
  function follow(news: Loose): void {
    const before = context["displayMode"];
    context = { ...context, ...news };
    look(context);
    if (shown && context["displayMode"] !== before) relay(true);
  }

  let relaid: Layout | undefined;
  function relay(anew: boolean): void {
    const next = layout();
    if (!shown || (!anew && relaid?.split === next.split)) return;
    relaid = next;
    shown.relayout(next);
  }

  new ResizeObserver(() => {
    relay(false);
    host.notify("ui/notifications/size-changed", { width: Math.ceil(root.scrollWidth), height: Math.ceil(root.getBoundingClientRect().height) });
  }).observe(root);

  waiting(T.waitingForHost);
  const hello = {
    appInfo: { name: "mcp-text-editor", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    protocolVersion: PROTOCOL,
  };
  host.request("ui/initialize", hello, SOON).then(
    (welcome) => {
      capabilities = isObject(welcome["hostCapabilities"]) ? welcome["hostCapabilities"] : {};
      follow(isObject(welcome["hostContext"]) ? welcome["hostContext"] : {});
      host.notify("ui/notifications/initialized");
      if (!result) waiting(T.waitingForEdit);
    },
    () => result ?? waiting(T.noHost),
  );
}

/** Applies theme, variables, fonts, language and safe margins of the host. Each value goes only where no rule or markup can be injected. */
function look(context: Loose): void {
  const page = document.documentElement;
  if (context["theme"] === "light" || context["theme"] === "dark") {
    page.dataset["theme"] = context["theme"];
    page.style.colorScheme = context["theme"];
  }
  const styles = isObject(context["styles"]) ? context["styles"] : {};
  const variables = isObject(styles["variables"]) ? styles["variables"] : {};
  for (const [name, value] of Object.entries(variables)) {
    if (name.startsWith("--") && typeof value === "string" && !/url\(/i.test(value)) page.style.setProperty(name, value);
  }
  const css = isObject(styles["css"]) ? styles["css"]["fonts"] : undefined;
  if (typeof css === "string") {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    // Only font rules are adopted, so that no foreign rule can hide or move anything.
    for (let at = sheet.cssRules.length - 1; at >= 0; at -= 1) if (!(sheet.cssRules[at] instanceof CSSFontFaceRule)) sheet.deleteRule(at);
    document.adoptedStyleSheets = [sheet];
  }
  const insets = isObject(context["safeAreaInsets"]) ? context["safeAreaInsets"] : {};
  for (const side of ["top", "right", "bottom", "left"]) {
    const inset = insets[side];
    if (typeof inset === "number") page.style.setProperty(`--inset-${side}`, `${inset}px`);
  }
  use(typeof context["locale"] === "string" ? context["locale"] : undefined, typeof context["timeZone"] === "string" ? context["timeZone"] : undefined);
}

function textOf(reply: Loose): string {
  return list(reply["content"], (part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : undefined)).join("\n");
}
