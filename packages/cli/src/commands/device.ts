import { GatewayClient } from "../gateway-client.ts";
import { print, printJson } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface DeviceOptions extends TargetOptions {
  readonly json?: boolean;
}

export async function renameDevice(device: string, alias: string, options: DeviceOptions): Promise<void> {
  const changed = await new GatewayClient(readTarget(options)).devices.change(device, { alias });
  if (options.json === true) printJson(changed);
  else print(`${changed.id} is now ${changed.alias}`);
}

export async function tagDevice(device: string, tags: string[], options: DeviceOptions): Promise<void> {
  const changed = await new GatewayClient(readTarget(options)).devices.change(device, { tags });
  if (options.json === true) printJson(changed);
  else
    print(
      changed.tags.length === 0
        ? `${changed.alias} has no tags`
        : `${changed.alias}: ${changed.tags.join(" ")}`,
    );
}

export async function deleteDevice(
  device: string,
  options: DeviceOptions & { readonly history?: boolean },
): Promise<void> {
  const { history = false } = options;
  await new GatewayClient(readTarget(options)).devices.delete(device, { history: history || undefined });
  if (options.json === true) return;
  print(
    history
      ? `${device} is deleted, with its calls, events and photos`
      : `${device} is deleted; its calls stay in the history`,
  );
}
