import { TendonError } from "../errors.ts";
import type { DeviceRecord } from "./device-record.ts";

/** Programs can be changed in the configuration only. */
export function refuseProgram({ kind }: Pick<DeviceRecord, "kind">): void {
  if (kind === "esp32") return;
  if (kind === "endpoint")
    throw new TendonError("conflict", "this device is a tool provider; its token admits it, so revoke that");
  throw new TendonError(
    "conflict",
    "this device is a program from the configuration; change it in tendon.yaml",
  );
}
