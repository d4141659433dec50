/** What one token sees at one address: which tools, under which names, and where each name leads. */
import type { ListToolsResult, Tool } from "@modelcontextprotocol/server";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { didYouMean, type JsonObject, nearNames } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";
import type { Events } from "../../events.ts";
import type { ExposedTool, Principal, Registry } from "../../registry/registry.ts";
import { compactDefinitions } from "./compact/compact.ts";
import { ListPages } from "./list-pages.ts";
import { OpenCalls } from "./open-calls.ts";
import type { RequestStates } from "./request-state.ts";
import type { Surface } from "./surface.ts";

export interface AgentViewNeeds {
  readonly registry: Registry;
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
export type Asker = Pick<AgentView, "principal" | "registry" | "clock" | "events" | "waits">;

export class AgentView {
  readonly principal: Principal;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly events: Events;
  readonly waits: { count: number };
  readonly states: RequestStates;
  readonly reportFault: (error: unknown) => void;
  readonly surface: Surface;
  readonly openCalls = new OpenCalls();
  /** The list as it was last asked for, and what it was made from. */
  #shown: readonly ExposedTool[] | undefined;
  #pages = new ListPages<Tool>([], "name");
  /** What those who listen know: somebody who asks by himself changes nothing for them. */
  #told: readonly ExposedTool[];

  constructor(needs: AgentViewNeeds, principal: Principal, surface: Surface) {
    this.principal = principal;
    this.registry = needs.registry;
    this.clock = needs.clock;
    this.events = needs.events;
    this.waits = needs.waits;
    this.states = needs.states;
    this.reportFault = needs.reportFault;
    this.surface = surface;
    this.#told = this.#deviceTools();
  }

  /** What a standard MCP server offers beside its tools, where it is shown alone. */
  get extras(): ReturnType<Registry["extras"]["of"]> {
    const { registry, principal, surface } = this;
    if (surface.kind !== "device" || !registry.visible(principal, surface.device)) return undefined;
    return registry.extras.of(principal, surface.device);
  }

  list(cursor: string | undefined): ListToolsResult {
    this.#refresh();
    const { items, nextCursor } = this.#pages.page(cursor);
    return { tools: [...items], ...(nextCursor === undefined ? {} : { nextCursor }) };
  }

  /** Whether a change of these devices makes the list another than those who listen know. */
  noticeChange(devices: ReadonlySet<string>): boolean {
    if (this.surface.kind === "device" && !devices.has(this.surface.device)) return false;
    const now = this.#deviceTools();
    const isNew = !isSameList(now, this.#told);
    this.#told = now;
    return isNew;
  }

  /** Where a name leads; a name that leads nowhere is the one mistake that is an error of the protocol [SRV-5]. */
  addressOf(name: string): ToolAddress {
    const { toolset } = this.registry;
    const within = this.surface.kind === "device" ? { device: this.surface.device } : {};
    const address = toolset.resolve(this.principal, name, within);
    if (address !== undefined) return address;
    const ours = this.surface.kind === "device" ? [] : nearNames(name, compactNames);
    const near = didYouMean(ours.length > 0 ? ours : toolset.near(this.principal, name, within));
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}${near}`);
  }

  /** Whether the tool is listed with the schema of its output. */
  declaresOutput({ device, tool }: ToolAddress): boolean {
    const listed = this.registry.toolset.list(this.principal, { device });
    return listed.find((known) => known.tool === tool)?.outputSchema !== undefined;
  }

  #refresh(): void {
    const shown = this.#deviceTools();
    if (this.#shown !== undefined && isSameList(shown, this.#shown)) return;
    this.#shown = shown;
    const bare = this.surface.kind === "device";
    const tools = shown.map((tool) => listed(tool, bare));
    this.#pages = new ListPages(bare ? tools : [...compactDefinitions, ...tools], "name");
  }

  #deviceTools(): readonly ExposedTool[] {
    const { surface, principal } = this;
    const { toolset } = this.registry;
    switch (surface.kind) {
      case "auto":
        return toolset.fits(principal) ? toolset.list(principal) : none;
      case "flat":
        return toolset.list(principal);
      case "compact":
        return none;
      case "device":
        return toolset.list(principal, { device: surface.device });
    }
  }
}

const none: readonly ExposedTool[] = [];
const compactNames = compactDefinitions.map(({ name }) => name);

function isSameList(one: readonly ExposedTool[], other: readonly ExposedTool[]): boolean {
  if (one === other) return true;
  return one.length === other.length && one.every((tool, index) => tool === other[index]);
}

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
