/** What one token sees at one address: which tools, under which names, and where each name leads. */
import type { ListToolsResult, Tool } from "@modelcontextprotocol/server";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { didYouMean, type JsonObject, nearNames } from "@tendon/protocol";
import type { Principal } from "../../access/access.ts";
import type { Clock } from "../../clock.ts";
import type { Events } from "../../events/events.ts";
import type { ExposedTool } from "../../toolset/toolset.ts";
import type { Services } from "../services.ts";
import { compactDefinitions } from "./compact/compact.ts";
import { cursorOf, ListPages, nameOf, pageSize, wrongCursor } from "./list-pages.ts";
import { OpenCalls } from "./open-calls.ts";
import type { RequestStates } from "./request-state.ts";
import type { Surface } from "./surface.ts";

export interface AgentViewNeeds {
  readonly services: Services;
  readonly clock: Clock;
  readonly events: Events;
  /** How many agents wait for events now, whoever they are. */
  readonly waits: { count: number };
  readonly states: RequestStates;
  /** Faults of ours; an agent is told only that there was one. */
  readonly reportFault: (error: unknown) => void;
  /** What ids of sessions given out here begin with, so that another node can tell whose they are. */
  readonly idMark: string;
}

export interface ToolAddress {
  readonly device: string;
  readonly tool: string;
}

/** Who asks, and what there is to ask; the part of a view that other doors have too. */
export type Asker = Pick<AgentView, "principal" | "services" | "clock" | "events" | "waits">;

export class AgentView {
  readonly principal: Principal;
  readonly services: Services;
  readonly clock: Clock;
  readonly events: Events;
  readonly waits: { count: number };
  readonly states: RequestStates;
  readonly reportFault: (error: unknown) => void;
  readonly surface: Surface;
  readonly openCalls = new OpenCalls();
  /** The state of the list that listeners know; a client that asks for it changes nothing for them. */
  #told: number | "none";

  constructor(needs: AgentViewNeeds, principal: Principal, surface: Surface) {
    this.principal = principal;
    this.services = needs.services;
    this.clock = needs.clock;
    this.events = needs.events;
    this.waits = needs.waits;
    this.states = needs.states;
    this.reportFault = needs.reportFault;
    this.surface = surface;
    this.#told = this.#version();
    // A client that lists the compact tools is likely to search next.
    if (surface.kind !== "device") needs.services.toolset.prepareSearch();
  }

  /** What a standard MCP server offers beside its tools, where it is shown alone. */
  get program(): ReturnType<Services["fleet"]["passthrough"]["of"]> {
    const { services, principal, surface } = this;
    if (surface.kind !== "device" || !services.fleet.visible(principal, surface.device)) return undefined;
    return services.fleet.passthrough.of(principal, surface.device);
  }

  list(cursor: string | undefined): ListToolsResult {
    const { surface, principal, services } = this;
    if (surface.kind === "device") {
      const tools = services.toolset.list(principal, { device: surface.device });
      const pages = new ListPages(tools.map((tool) => listed(tool, true)));
      const { items, nextCursor } = pages.page(cursor);
      return { tools: [...items], ...(nextCursor === undefined ? {} : { nextCursor }) };
    }
    const after = cursor === undefined ? undefined : this.#nameIn(cursor);
    const ours = after === undefined ? compactDefinitions : [];
    const room = pageSize - ours.length;
    const found = this.#showsDevices() ? services.toolset.page(principal, after, room + 1) : none;
    const tools = [...ours, ...found.slice(0, room).map((tool) => listed(tool, false))];
    return { tools, ...(found.length > room ? { nextCursor: cursorOf(tools.at(-1)?.name ?? "") } : {}) };
  }

  /** Whether a change of these devices makes the list another than those who listen know. */
  noticeChange(devices: ReadonlySet<string>): boolean {
    if (this.surface.kind === "device" && !devices.has(this.surface.device)) return false;
    const now = this.#version();
    const isNew = now !== this.#told;
    this.#told = now;
    return isNew;
  }

  /** Where a name leads; a name that leads nowhere is the one mistake that is an error of the protocol [SRV-5]. */
  addressOf(name: string): ToolAddress {
    const { toolset } = this.services;
    const within = this.surface.kind === "device" ? { device: this.surface.device } : {};
    const address = toolset.resolve(this.principal, name, within);
    if (address !== undefined) return address;
    const ours = this.surface.kind === "device" ? [] : nearNames(name, compactNames);
    const near = didYouMean(ours.length > 0 ? ours : toolset.near(this.principal, name, within));
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}${near}`);
  }

  /** Whether the tool is listed with the schema of its output. */
  declaresOutput({ device, tool }: ToolAddress): boolean {
    const listed = this.services.toolset.list(this.principal, { device });
    return listed.find((known) => known.tool === tool)?.outputSchema !== undefined;
  }

  /** A cursor names the last tool of a page: a name that was given to one, whatever has become of it since. */
  #nameIn(cursor: string): string {
    const name = nameOf(cursor);
    if (this.services.toolset.resolve(this.principal, name) === undefined) throw wrongCursor();
    return name;
  }

  #showsDevices(): boolean {
    const { surface, principal } = this;
    return surface.kind === "auto" ? this.services.toolset.fits(principal) : surface.kind === "flat";
  }

  #version(): number | "none" {
    const { surface, principal } = this;
    const { toolset } = this.services;
    if (surface.kind === "device") return toolset.version(principal, surface.device);
    return this.#showsDevices() ? toolset.version(principal) : "none";
  }
}

const none: readonly ExposedTool[] = [];
const compactNames = compactDefinitions.map(({ name }) => name);

function listed(tool: ExposedTool, bare: boolean): Tool {
  return {
    name: bare ? tool.bareName : tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.inputSchema as Tool["inputSchema"],
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema as JsonObject }),
    annotations: tool.annotations,
    _meta: tool.meta,
  };
}
