import { describe } from "vitest";
import { mcpInterface } from "../mcp/mcp-interface.ts";
import { webSocketTransport } from "../websocket-wire.ts";
import { answerScenarios } from "./answers.ts";
import { callScenarios } from "./calls.ts";
import { departureScenarios } from "./departures.ts";
import { upgradeScenarios } from "./upgrades.ts";

const overMcp = { ...webSocketTransport, callInterface: mcpInterface };

describe("a device that is called over /mcp", () => {
  callScenarios(overMcp);
  departureScenarios(overMcp);
  upgradeScenarios(overMcp);
  answerScenarios(overMcp);
});
