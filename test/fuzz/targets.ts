import { gatewayTargets } from "./gateway-targets.ts";
import { protocolTargets } from "./protocol-targets.ts";
import type { Target } from "./target.ts";
import { toolTargets } from "./tool-targets.ts";

export const targets: readonly Target[] = [...protocolTargets, ...toolTargets, ...gatewayTargets];
