// Starts the variant of the page that the HTML around it names: chat, browser or file.

import { app } from "./app.ts";
import { fileFrame } from "./file.ts";
import { use } from "./text.ts";
import { web } from "./web.ts";

const root = document.getElementById("root");
use(navigator.language, undefined);
if (root) {
  const frame = document.documentElement.dataset["frame"];
  if (frame === "web") web(root);
  else if (frame === "file") fileFrame(root);
  else app(root);
}
