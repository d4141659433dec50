import { agentLimits } from "../agent-limits.ts";
import { cleanLine } from "./clean-text.ts";

const joints = /[\s_\-./:]+|(?<=[a-z0-9])(?=[A-Z])/;

/** The words of a name in lower case: `self.audio_speaker.setVolume` is audio, speaker, set, volume. */
export function wordsOf(name: string): string[] {
  return afterSelf(name)
    .split(joints)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
}

/** A name for people: `self.audio_speaker.set_volume` is `Set volume (audio speaker)`. */
export function toolTitle(name: string): string {
  const parts = afterSelf(name)
    .split(".")
    .map((part) => wordsOf(part).join(" "))
    .filter((part) => part !== "");
  const action = parts.pop() ?? "";
  const of = parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  return cleanLine(`${action.slice(0, 1).toUpperCase()}${action.slice(1)}${of}`, agentLimits.titleLength.max);
}

function afterSelf(name: string): string {
  return name.startsWith("self.") ? name.slice("self.".length) : name;
}
