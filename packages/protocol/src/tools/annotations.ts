/**
 * Annotations of a tool, by the gateway's own rules [AGT-8]. Agents ask for confirmation less often if a tool only reads,
 * so a device's claim that a tool is harmless is ignored. Its warnings are used. Unknown tools count as dangerous.
 */
import { inlineReferences } from "../json-schema/published.ts";
import { isObject, type JsonObject } from "../outcome.ts";
import type { Audience } from "./definition.ts";
import { wordsOf } from "./title.ts";

export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

interface Judged {
  readonly name: string;
  readonly audience: Audience;
  readonly inputSchema: JsonObject;
  readonly warnings?: readonly ToolWarning[];
}

/** The warnings that a device may give about its tool. */
export type ToolWarning = "changes" | "destructive" | "notIdempotent" | "openWorld";

const reads = annotations(true, false, true, false);
const sets = annotations(false, false, true, false);
const acts = annotations(false, false, false, false);
const unknown = annotations(false, true, false, true);

/** The firmware's tools, whose effects are known. */
const knownTools: ReadonlyMap<string, ToolAnnotations> = new Map([
  ["self.get_device_status", reads],
  ["self.get_system_info", reads],
  ["self.screen.get_info", reads],
  ["self.battery.get_level", reads],
  ["self.audio_speaker.set_volume", sets],
  ["self.screen.set_brightness", sets],
  ["self.screen.set_theme", sets],
  // It changes nothing, but a photo needs consent.
  ["self.camera.take_photo", annotations(false, false, false, true)],
  ["self.screen.snapshot", annotations(false, false, false, true)],
  ["self.screen.preview_image", annotations(false, false, false, true)],
  ["self.reboot", annotations(false, true, false, false)],
  ["self.upgrade_firmware", annotations(false, true, false, true)],
  ["self.assets.set_download_url", annotations(false, true, true, true)],
]);

const readingVerbs = words("get read list query check is has describe count measure status");
const settingVerbs = words("set turn switch mute unmute dim enable disable");
const actingVerbs = words("show display play pause resume say speak notify beep blink toggle next previous");
const stepping = words("toggle next previous up down step increase decrease add move");
/** Words that mark a tool as dangerous anywhere in its name. */
const dangerous = words(
  "delete remove erase wipe clear reset factory format reboot restart shutdown power upgrade update flash " +
    "unlock lock open door gate garage alarm arm disarm valve gas oven heater boiler pump motor " +
    "pay buy order send wifi password credential token url firmware config",
);

export function toolAnnotations(tool: Judged): ToolAnnotations {
  return heed(knownTools.get(tool.name) ?? judge(tool), tool.warnings ?? []);
}

function judge({ name, audience, inputSchema }: Judged): ToolAnnotations {
  const all = wordsOf(name);
  const said = wordsOf(name.split(".").at(-1) ?? name);
  const [first = ""] = said;
  const risky = all.some((word) => dangerous.has(word));
  if (readingVerbs.has(first) || said.at(-1) === "get") {
    return changesToo(said) ? unknown : withUrls(reads, inputSchema);
  }
  if (risky || audience === "user") return unknown;
  const repeatable = !all.some((word) => stepping.has(word));
  if (settingVerbs.has(first)) return withUrls(repeatable ? sets : acts, inputSchema);
  return actingVerbs.has(first) ? withUrls(acts, inputSchema) : unknown;
}

/** Words that mean a change, also after a word that means reading: `get_and_reset`. */
function changesToo(said: readonly string[]): boolean {
  const others = new Set(said.slice(1));
  return [...settingVerbs, "reset", "clear", "delete", "remove", "erase", "reboot", "restart", "unlock"].some(
    (word) => others.has(word),
  );
}

/** A tool with an address as argument makes the device contact another host. */
function withUrls(known: ToolAnnotations, schema: JsonObject): ToolAnnotations {
  const { properties } = inlineReferences(schema);
  const names = isObject(properties) ? Object.keys(properties) : [];
  const outward = names.some((name) => wordsOf(name).some((word) => addresses.has(word)));
  return outward ? { ...known, readOnlyHint: false, openWorldHint: true } : known;
}

const addresses = words("url uri href endpoint host address link");

function heed(known: ToolAnnotations, warnings: readonly ToolWarning[]): ToolAnnotations {
  if (warnings.length === 0) return known;
  const said = new Set(warnings);
  return {
    readOnlyHint: known.readOnlyHint && !said.has("changes") && !said.has("destructive"),
    destructiveHint: known.destructiveHint || said.has("destructive"),
    idempotentHint: known.idempotentHint && !said.has("notIdempotent"),
    openWorldHint: known.openWorldHint || said.has("openWorld"),
  };
}

/** The warnings in a device's annotations. Reassuring annotations are ignored. */
export function readWarnings(hints: unknown): ToolWarning[] {
  if (!isObject(hints)) return [];
  const warnings: [boolean, ToolWarning][] = [
    [hints["readOnlyHint"] === false, "changes"],
    [hints["destructiveHint"] === true, "destructive"],
    [hints["idempotentHint"] === false, "notIdempotent"],
    [hints["openWorldHint"] === true, "openWorld"],
  ];
  return warnings.flatMap(([said, warning]) => (said ? [warning] : []));
}

function annotations(
  readOnlyHint: boolean,
  destructiveHint: boolean,
  idempotentHint: boolean,
  openWorldHint: boolean,
): ToolAnnotations {
  return { readOnlyHint, destructiveHint, idempotentHint, openWorldHint };
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}
