// The page as an MCP App, in a chat: shows the call that the host tells of, and asks the server through the host.

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
/** So long an answer is waited for, in seconds. A call that changes files may wait for a lock, and for the user's consent. */
const SOON = 10;
const LONG = 60;
/** Two columns want so many pixels. */
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
    else if (method === "ui/notifications/tool-result") void showResult(params);
    else if (method === "ui/notifications/tool-cancelled") result ?? waiting(T.cancelled);
    else if (method === "ui/notifications/host-context-changed") follow(params);
  }

  const waiting = (text: string) => fill(root, h("p", { class: "waiting", role: "status" }, text));

  /** Calls a tool of the server; a result that is an error by its text alone is thrown. */
  async function call(name: string, given: Loose, seconds: number): Promise<Loose> {
    try {
      return await host.request("tools/call", { name, arguments: given }, seconds);
    } catch (error) {
      throw error instanceof HostSilent ? new NoAnswer() : error;
    }
  }

  const storyOf = (reply: Loose): Story | undefined =>
    readStory(isObject(reply["_meta"]) ? reply["_meta"][STORY] : undefined) ?? readStory(reply["structuredContent"]);

  async function story(name: string, given: Loose, seconds: number): Promise<Story> {
    const reply = await call(name, given, seconds);
    const found = storyOf(reply);
    if (!found) throw new Error(textOf(reply) || T.noHost);
    return found;
  }

  const desk: Desk = {
    show: (id) => story(SHOW, { edit_id: id }, SOON),
    takeBack: (id) => story(TAKE_BACK, { edit_id: id }, LONG),
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

  async function showResult(params: Loose): Promise<void> {
    // A host that tells of the same call twice changes nothing on the page.
    if (result && JSON.stringify(result) === JSON.stringify(params)) return;
    result = params;
    let found = storyOf(params);
    const id = editId(params);
    if (!found && id !== undefined) {
      waiting(T.loading);
      found = await desk.show(id).catch(() => undefined);
    }
    if (result !== params) return;
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

  const go = (id: string): void => {
    void desk.show(id).then((found) => {
      const below = card(found, { layout: layout(), desk, heading: "h2" });
      put(root, below.element);
      below.element.scrollIntoView({ block: "nearest" });
    }, () => undefined);
  };

  /** The larger view, and back, where the host has both. */
  function frameButtons(): Child[] {
    const modes = Array.isArray(context["availableDisplayModes"]) ? context["availableDisplayModes"] : [];
    const next = context["displayMode"] === "fullscreen" ? "inline" : "fullscreen";
    if (!modes.includes(next)) return [];
    return [button(next === "inline" ? T.showInline : T.showWhole, () => void host.request("ui/request-display-mode", { mode: next }, LONG).then(
      ({ mode }) => follow({ displayMode: mode }),
      () => undefined,
    ), "quiet-button", [icon("wide")])];
  }

  /** The session's other edits, newest first, each opened where it stands. */
  function earlier(current: string | undefined): HTMLElement {
    const items = h("ul", { class: "edits" });
    const element = h("details", { class: "earlier" }, h("summary", {}, T.earlier), items);
    element.addEventListener("toggle", () => {
      if (!element.open || items.childElementCount > 0) return;
      put(items, h("li", { class: "quiet pad" }, T.loading));
      call(LIST, {}, SOON).then(
        (reply) => {
          const content = isObject(reply["structuredContent"]) ? reply["structuredContent"] : {};
          const edits = list(content["edits"], readEdit).filter(({ id }) => id !== current);
          fill(items, ...(edits.length > 0 ? edits.map(item) : [h("li", { class: "quiet pad" }, T.noEarlier)]));
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
        (error: unknown) => fill(inside, h("p", { class: "status bad" }, error instanceof Error && error.message ? error.message : T.noHost)),
      );
    });
    return h("li", {}, element);
  }

  /** Takes over how the host looks; what it does not say stays. */
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

/** Theme, variables, fonts, language and safe margins of the host. Values go where nothing but a value can be. */
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
    // Fonts alone: no rule of a stranger hides or moves anything here.
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

/** The id that the reply to the model names. */
function editId(reply: Loose): string | undefined {
  const structured = reply["structuredContent"];
  if (isObject(structured) && typeof structured["edit_id"] === "string") return structured["edit_id"];
  try {
    const parsed: unknown = JSON.parse(textOf(reply));
    return isObject(parsed) && typeof parsed["edit_id"] === "string" ? parsed["edit_id"] : undefined;
  } catch {
    return undefined;
  }
}
