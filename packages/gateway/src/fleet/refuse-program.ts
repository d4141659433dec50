import { TendonError } from "../errors.ts";
import type { DeviceRecord } from "./device-record.ts";

/** Programs can be changed in the configuration only, and MCP servers over HTTP have no credentials of the gateway. */
export function refuseProgram({ kind }: Pick<DeviceRecord, "kind">): void {
  if (kind === "esp32") return;
  if (kind === "http")
    throw new TendonError(
      "conflict",
      "this device is an MCP server; delete it and add it again to change it",
    );
  throw new TendonError(
    "conflict",
    "this device is a program from the configuration; change it in tendon.yaml",
  );
}
