import { describe } from "vitest";
import { mcpDoor } from "../mcp/mcp-door.ts";
import { webSocketTransport } from "../websocket-wire.ts";
import { answerScenarios } from "./answers.ts";
import { callScenarios } from "./calls.ts";
import { departureScenarios } from "./departures.ts";
import { upgradeScenarios } from "./upgrades.ts";

const overMcp = { ...webSocketTransport, callDoor: mcpDoor };

describe("a device that is called over /mcp", () => {
  callScenarios(overMcp);
  departureScenarios(overMcp);
  upgradeScenarios(overMcp);
  answerScenarios(overMcp);
});
