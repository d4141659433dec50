import { nearNames } from "@tendon/protocol";
import type { ExposedTool } from "./exposed-tool.ts";

interface Lookup {
  readonly deviceOf: (alias: string) => string | undefined;
  /** Similar aliases of devices that the caller may see. */
  readonly nearAliases: (alias: string) => readonly string[];
  readonly toolsOf: (device: string) => readonly ExposedTool[];
}

const most = 3;

/**
 * Names similar to an unknown `{alias}__{tool}`: first the device is matched, then its tools. So `desk__set_volume`
 * gives `desk__audio_speaker_set_volume`, and the cost does not grow with the fleet.
 */
export function nearTools(name: string, { deviceOf, nearAliases, toolsOf }: Lookup): string[] {
  const at = name.indexOf("__");
  if (at <= 0) return [];
  const [alias, tail] = [name.slice(0, at), name.slice(at + 2)];
  const owner = deviceOf(alias);
  const owners = owner === undefined ? nearAliases(alias).map((near) => deviceOf(near) ?? "") : [owner];
  const found = owners.flatMap((device) => {
    const tools = toolsOf(device);
    const same = tools.filter(({ bareName }) => bareName === tail);
    if (same.length > 0) return same;
    const near = nearNames(
      tail,
      tools.map(({ bareName }) => bareName),
    );
    return near.flatMap((bareName) => tools.filter((tool) => tool.bareName === bareName));
  });
  return found.slice(0, most).map((tool) => tool.name);
}
