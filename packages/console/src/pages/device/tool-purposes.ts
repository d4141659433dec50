/** Groups tools by what they are for. The words of a tool's name decide, first those before its last part. */
import type { Tool } from "@tendon/protocol";
import type { Key } from "../../i18n/i18n.tsx";
import type { IconName } from "../../ui/icon.tsx";
import { groupOf } from "../../ui/tool-names.ts";

interface Purpose {
  readonly icon: IconName;
  readonly label: Extract<Key, `purpose.${string}`>;
  readonly words: string;
}

/** In the order of the page. The first purpose that a word names wins. */
const purposes: readonly Purpose[] = [
  {
    icon: "volume",
    label: "purpose.sound",
    words: "audio speaker volume mute unmute sound music song play radio chime beep voice",
  },
  {
    icon: "camera",
    label: "purpose.camera",
    words: "camera photo picture video vision",
  },
  { icon: "screen", label: "purpose.screen", words: "screen display theme brightness image snapshot" },
  { icon: "sun", label: "purpose.light", words: "light lights lamp led leds rgb strip scene" },
  {
    icon: "thermometer",
    label: "purpose.climate",
    words: "climate temperature humidity thermostat heater fan sensor weather",
  },
  {
    icon: "bell",
    label: "purpose.safety",
    words: "alarm lock unlock door gate garage presence people person motion",
  },
  {
    icon: "play",
    label: "purpose.movement",
    words: "motor servo move walk drive wheel chassis dog robot",
  },
  {
    icon: "firmware",
    label: "purpose.system",
    words: "system firmware upgrade update reboot restart shutdown assets config settings wifi network power",
  },
  { icon: "overview", label: "purpose.state", words: "status state states info battery get list read" },
];
const byWord = new Map(
  purposes.flatMap((purpose) => purpose.words.split(" ").map((word) => [word, purpose] as const)),
);

export interface ToolGroup {
  readonly id: string;
  readonly icon: IconName | undefined;
  /** The purpose as a text of the console, or a name from the device. */
  readonly label: Purpose["label"] | undefined;
  readonly name: string;
  readonly tools: readonly Tool[];
}

export function groupByPurpose(tools: readonly Tool[]): ToolGroup[] {
  const groups = new Map<string, ToolGroup>();
  for (const tool of tools) {
    const found = purposeOf(tool.name);
    const name = found === undefined ? groupOf(tool.name) : "";
    const id = found?.label ?? `own ${name}`;
    const group = groups.get(id) ?? { id, icon: found?.icon, label: found?.label, name, tools: [] };
    groups.set(id, { ...group, tools: [...group.tools, tool] });
  }
  return [...groups.values()].sort((a, b) => placeOf(a) - placeOf(b));
}

/** A device's own groups follow the known ones, in the order of its list; tools without any group are last. */
function placeOf({ label, name }: ToolGroup): number {
  const at = purposes.findIndex((purpose) => purpose.label === label);
  return at === -1 ? purposes.length + (name === "" ? 1 : 0) : at;
}

function purposeOf(tool: string): Purpose | undefined {
  const parts = tool.split(".").filter((part, at) => !(at === 0 && part === "self"));
  const last = parts.pop() ?? "";
  for (const word of [...parts.flatMap(wordsIn), ...wordsIn(last)]) {
    const found = byWord.get(word);
    if (found !== undefined && !(found.label === "purpose.state" && isVerb(word))) return found;
  }
  // A verb such as `get` decides only if no other word does.
  return wordsIn(last).some(isVerb) ? byWord.get("get") : undefined;
}

function isVerb(word: string): boolean {
  return word === "get" || word === "list" || word === "read";
}

function wordsIn(name: string): string[] {
  return name
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}
