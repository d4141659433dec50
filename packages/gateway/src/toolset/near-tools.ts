import { nearNames } from "@tendon/protocol";
import type { ExposedTool } from "./exposed-tool.ts";

interface Lookup {
  readonly deviceOf: (alias: string) => string | undefined;
  /** Aliases close to one that no device has, of devices that the caller may see. */
  readonly nearAliases: (alias: string) => readonly string[];
  readonly toolsOf: (device: string) => readonly ExposedTool[];
}

const most = 3;

/**
 * What may have been meant by `{alias}__{tool}`, part by part: first the device, then a tool of it. So `desk__set_volume`
 * leads to `desk__audio_speaker_set_volume`, and a slip in the alias costs the same in a fleet of any size.
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
