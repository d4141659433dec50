import { describe } from "vitest";
import { ThreeNodes } from "../cluster/three-nodes.ts";
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

const onThreeNodes = new ThreeNodes().of(webSocketTransport);

describe("a device on one of three nodes, used from the others", () => {
  helloScenarios(onThreeNodes);
  initializeScenarios(onThreeNodes);
  listingScenarios(onThreeNodes);
  callScenarios(onThreeNodes);
  departureScenarios(onThreeNodes);
  queueScenarios(onThreeNodes);
  upgradeScenarios(onThreeNodes);
  answerScenarios(onThreeNodes);
  argumentScenarios(onThreeNodes);
  frameScenarios(onThreeNodes);
  livenessScenarios(onThreeNodes);
});
