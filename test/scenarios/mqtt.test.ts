import { describe } from "vitest";
import { mqttTransport } from "../mqtt-wire.ts";
import { answerScenarios } from "./answers.ts";
import { argumentScenarios } from "./arguments.ts";
import { callScenarios } from "./calls.ts";
import { departureScenarios } from "./departures.ts";
import { frameScenarios } from "./frames.ts";
import { initializeScenarios } from "./initialize.ts";
import { listingScenarios } from "./listing.ts";
import { livenessScenarios } from "./liveness.ts";
import { queueScenarios } from "./queue.ts";
import { upgradeScenarios } from "./upgrades.ts";

describe("a device over MQTT that never subscribes", () => {
  initializeScenarios(mqttTransport);
  listingScenarios(mqttTransport);
  callScenarios(mqttTransport);
  departureScenarios(mqttTransport);
  queueScenarios(mqttTransport);
  upgradeScenarios(mqttTransport);
  answerScenarios(mqttTransport);
  argumentScenarios(mqttTransport);
  frameScenarios(mqttTransport);
  livenessScenarios(mqttTransport);
});
