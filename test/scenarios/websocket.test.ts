import { describe } from "vitest";
import { webSocketTransport } from "../websocket-wire.ts";
import { callScenarios } from "./calls.ts";
import { departureScenarios } from "./departures.ts";
import { helloScenarios } from "./hello.ts";
import { initializeScenarios } from "./initialize.ts";
import { listingScenarios } from "./listing.ts";

describe("a device over WebSocket", () => {
  helloScenarios(webSocketTransport);
  initializeScenarios(webSocketTransport);
  listingScenarios(webSocketTransport);
  callScenarios(webSocketTransport);
  departureScenarios(webSocketTransport);
});
