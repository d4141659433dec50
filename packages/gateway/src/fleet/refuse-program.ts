import { TendonError } from "../errors.ts";
import type { DeviceRecord } from "./device-record.ts";

/**
 * Programs can be changed in the configuration only. MCP servers over HTTP and tool providers have no credentials of
 * their own.
 */
export function refuseProgram({ kind }: Pick<DeviceRecord, "kind">): void {
  if (kind === "esp32") return;
  if (kind === "http")
    throw new TendonError(
      "conflict",
      "this device is an MCP server; delete it and add it again to change it",
    );
  if (kind === "endpoint")
    throw new TendonError("conflict", "this device is a tool provider; its token admits it, so revoke that");
  throw new TendonError(
    "conflict",
    "this device is a program from the configuration; change it in tendon.yaml",
  );
}
