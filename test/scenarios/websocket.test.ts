import { describe } from "vitest";
import { webSocketTransport } from "../websocket-wire.ts";
import { helloScenarios } from "./hello.ts";

describe("a device over WebSocket", () => {
  helloScenarios(webSocketTransport);
});
