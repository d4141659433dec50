import { isObject } from "@tendon/protocol";
import type { Cluster } from "../cluster/cluster.ts";
import type { FrameLog } from "../device/device.ts";
import { askOtherNodes } from "./other-nodes.ts";

type Frames = ReturnType<FrameLog["framesOf"]>;

/** The frames of a device, oldest first, from all nodes that it was connected to. */
export function framesOfAllNodes(
  cluster: Cluster | undefined,
  log: FrameLog,
): (device: string) => Promise<Frames> {
  if (cluster === undefined) return async (device) => log.framesOf(device);
  cluster.rpc.serveNode("frames", async (body) =>
    isObject(body) && typeof body["device"] === "string" ? log.framesOf(body["device"]) : [],
  );
  return async (device) => {
    // Safe: only the handler above answers, and all nodes run the same version.
    const others = (await askOtherNodes(cluster, "frames", { device })) as Frames[];
    return [log.framesOf(device), ...others].flat().sort((one, other) => one.at - other.at);
  };
}
