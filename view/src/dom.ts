// Creates elements. Text is inserted as text: neither the page nor anything that it shows is ever parsed as HTML, which the
// Content-Security-Policy forbids, too.

export type Child = Node | string | false | undefined;

interface Props {
  class?: string | undefined;
  id?: string;
  role?: string;
  /** Attributes by their names in HTML: `aria-label`, `for`, `data-…`. One that is false or undefined is left out. */
  attrs?: Record<string, string | number | boolean | undefined>;
  on?: { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (props.class) element.className = props.class;
  if (props.id) element.id = props.id;
  if (props.role) element.setAttribute("role", props.role);
  for (const [name, value] of Object.entries(props.attrs ?? {})) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [name, handler] of Object.entries(props.on ?? {})) {
    element.addEventListener(name, handler as EventListener);
  }
  put(element, ...children);
  return element;
}

/** Appends children. */
export function put(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child !== false && child !== undefined && child !== "") parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

/** Replaces the children of an element. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  put(parent, ...children);
}

export function button(label: string, press: () => void, kind = "plain", more: Child[] = []): HTMLButtonElement {
  return h("button", { class: `button ${kind}`, attrs: { type: "button" }, on: { click: press } }, ...more, label);
}

const ICONS = {
  back: "M6.5 3 3 6.5 6.5 10M3.5 6.5H9a3.5 3.5 0 0 1 0 7H6.5",
  again: "M9.5 3 13 6.5 9.5 10M12.5 6.5H7a3.5 3.5 0 0 0 0 7h2.5",
  apply: "M3 8.5 6.5 12 13 4.5",
  open: "M6 4l4 4-4 4",
  wide: "M9.5 3H13v3.5M13 3 9 7M6.5 13H3V9.5M3 13l4-4",
} as const;

/** A decorative icon beside a text; it adds no information. */
export function icon(name: keyof typeof ICONS): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon ${name}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}
