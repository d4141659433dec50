import { describe } from "vitest";
import { webSocketTransport } from "../websocket-wire.ts";
import { answerScenarios } from "./answers.ts";
import { argumentScenarios } from "./arguments.ts";
import { callScenarios } from "./calls.ts";
import { departureScenarios } from "./departures.ts";
import { frameScenarios } from "./frames.ts";
import { helloScenarios } from "./hello.ts";
import { initializeScenarios } from "./initialize.ts";
import { listingScenarios } from "./listing.ts";
import { livenessScenarios } from "./liveness.ts";
import { queueScenarios } from "./queue.ts";
import { upgradeScenarios } from "./upgrades.ts";

describe("a device over WebSocket", () => {
  helloScenarios(webSocketTransport);
  initializeScenarios(webSocketTransport);
  listingScenarios(webSocketTransport);
  callScenarios(webSocketTransport);
  departureScenarios(webSocketTransport);
  queueScenarios(webSocketTransport);
  upgradeScenarios(webSocketTransport);
  answerScenarios(webSocketTransport);
  argumentScenarios(webSocketTransport);
  frameScenarios(webSocketTransport);
  livenessScenarios(webSocketTransport);
});
