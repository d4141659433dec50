import type { ConfigInput } from "@tendon/gateway";

/** The settings that the scenarios of programs need. */
export const programSettings: ConfigInput = {
  endpoint: { enabled: true },
  access: { quarantine: true, rules: [{ tool: "grow", effect: "confirm" }] },
};
