import { describe } from "vitest";
import { openSite } from "../site.ts";
import { endpointHost, httpHost } from "./program-host.ts";
import { programSettings } from "./program-settings.ts";
import { programScenarios } from "./programs.ts";

async function one() {
  const site = await openSite({ config: programSettings });
  return { holder: site, entrance: site, lookout: site };
}

describe("an MCP server over HTTP with sessions", () => programScenarios(httpHost("sessions"), one));
describe("an MCP server over HTTP of the newer era", () => programScenarios(httpHost("modern"), one));
describe("a tool provider that has dialled in", () => programScenarios(endpointHost, one));
