/** What one token sees at one address: its tools, their names, and the device and tool behind each name. */
import type { ListToolsResult, Tool } from "@modelcontextprotocol/server";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { type CallOrigin, didYouMean, type JsonObject, nearNames } from "@tendon/protocol";
import type { Principal, SharedPool } from "../../access/access.ts";
import { photoTool } from "../../calls/calls.ts";
import type { Clock } from "../../clock.ts";
import type { Events } from "../../events/events.ts";
import type { ExposedTool } from "../../toolset/toolset.ts";
import type { Services } from "../services.ts";
import type { BackgroundCalls } from "./background-calls.ts";
import { compactDefinitions, optionalTask } from "./compact/compact.ts";
import { cursorOf, ListPages, nameOf, pageSize, wrongCursor } from "./list-pages.ts";
import { OpenCalls } from "./open-calls.ts";
import type { RequestStates } from "./request-state.ts";
import type { TaskIds } from "./task-ids.ts";
import type { ViewSelection } from "./view-selection.ts";

export interface AgentViewDependencies {
  readonly services: Services;
  readonly clock: Clock;
  readonly events: Events;
  /** The number of `events_wait` requests that are waiting, of all agents. */
  readonly waits: SharedPool;
  readonly states: RequestStates;
  readonly tasks: Tasks;
  /** Logs an unexpected error, whose details the agent does not get. */
  readonly reportFault: (error: unknown) => void;
  /** The prefix of session ids made on this node; it names the node to the others. */
  readonly idPrefix: string;
}

interface Tasks {
  readonly ids: TaskIds;
  readonly background: BackgroundCalls;
}

export interface ToolAddress {
  readonly device: string;
  readonly tool: string;
}

/** A voice agent on a connection of its own. */
export interface VoiceAgent {
  /** The longest call that the agent waits for. */
  readonly maxTimeoutMs: number;
  /** What the agent says about the board that it talks with, in the request with this id. */
  askerOf(requestId: unknown): Promise<CallOrigin["asker"]>;
}

/** The part of a view that REST has too. */
export type Caller = Pick<AgentView, "principal" | "services" | "clock" | "events" | "waits"> &
  Partial<Pick<AgentView, "voice">>;

export class AgentView {
  readonly principal: Principal;
  readonly services: Services;
  readonly clock: Clock;
  readonly events: Events;
  readonly waits: SharedPool;
  readonly states: RequestStates;
  readonly tasks: Tasks;
  readonly reportFault: (error: unknown) => void;
  readonly selection: ViewSelection;
  readonly voice: VoiceAgent | undefined;
  readonly openCalls = new OpenCalls();
  /** The version of the list that clients were last notified of. */
  #notifiedVersion: number | "none";

  constructor(
    dependencies: AgentViewDependencies,
    principal: Principal,
    selection: ViewSelection,
    voice?: VoiceAgent,
  ) {
    this.voice = voice;
    this.principal = principal;
    this.services = dependencies.services;
    this.clock = dependencies.clock;
    this.events = dependencies.events;
    this.waits = dependencies.waits;
    this.states = dependencies.states;
    this.tasks = dependencies.tasks;
    this.reportFault = dependencies.reportFault;
    this.selection = selection;
    this.#notifiedVersion = this.#version();
    // A client that lists the compact tools is likely to search next.
    if (selection.kind !== "device") dependencies.services.toolset.prepareSearch();
  }

  /** What an MCP program offers beside its tools; only at the program's own address. */
  get program(): ReturnType<Services["fleet"]["passthrough"]["of"]> {
    const { services, principal, selection } = this;
    if (selection.kind !== "device" || !services.fleet.visible(principal, selection.device)) return undefined;
    return services.fleet.passthrough.of(principal, selection.device);
  }

  list(cursor: string | undefined): ListToolsResult {
    const { selection, principal, services } = this;
    if (selection.kind === "device") {
      const tools = services.toolset.list(principal, { device: selection.device });
      const pages = new ListPages(tools.map((tool) => listed(tool, true)));
      const { items, nextCursor } = pages.page(cursor);
      return { tools: [...items], ...(nextCursor === undefined ? {} : { nextCursor }) };
    }
    const after = cursor === undefined ? undefined : this.#nameIn(cursor);
    const ours = after === undefined ? compactDefinitions : [];
    const count = pageSize - ours.length;
    const found = this.#showsDevices() ? services.toolset.page(principal, after, count + 1) : none;
    const tools = [...ours, ...found.slice(0, count).map((tool) => listed(tool, false))];
    return { tools, ...(found.length > count ? { nextCursor: cursorOf(tools.at(-1)?.name ?? "") } : {}) };
  }

  /** Whether the list has changed since clients were last notified; records the new version. */
  listChanged(devices: ReadonlySet<string>): boolean {
    if (this.selection.kind === "device" && !devices.has(this.selection.device)) return false;
    const now = this.#version();
    const changed = now !== this.#notifiedVersion;
    this.#notifiedVersion = now;
    return changed;
  }

  /** The device and tool behind a name. An unknown name is the only mistake that is a protocol error [SRV-5]. */
  addressOf(name: string): ToolAddress {
    const { toolset } = this.services;
    const within = this.selection.kind === "device" ? { device: this.selection.device } : {};
    const address = toolset.resolve(this.principal, name, within);
    if (address !== undefined) return address;
    const ours = this.selection.kind === "device" ? [] : nearNames(name, compactNames);
    const near = didYouMean(ours.length > 0 ? ours : toolset.near(this.principal, name, within));
    // A tool that no list has can only be found by search.
    const hint = near === "" && this.selection.kind !== "device" ? "; `tools_search` finds tools" : near;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}${hint}`);
  }

  /** Whether a client of the older form may call the tool as a task. */
  takesTasks(name: string): boolean {
    const isCompact = this.selection.kind !== "device" && compactNames.includes(name);
    return isCompact ? taskTools.has(name) : this.addressOf(name).tool === photoTool;
  }

  /** Whether the tool is listed with an output schema. */
  declaresOutput({ device, tool }: ToolAddress): boolean {
    const listed = this.services.toolset.list(this.principal, { device });
    return listed.find((known) => known.tool === tool)?.outputSchema !== undefined;
  }

  /** A cursor names the last tool of a page. The name stays valid if the tool is no longer listed. */
  #nameIn(cursor: string): string {
    const name = nameOf(cursor);
    if (this.services.toolset.resolve(this.principal, name) === undefined) throw wrongCursor();
    return name;
  }

  #showsDevices(): boolean {
    const { selection, principal } = this;
    return selection.kind === "auto" ? this.services.toolset.fits(principal) : selection.kind === "flat";
  }

  #version(): number | "none" {
    const { selection, principal } = this;
    const { toolset } = this.services;
    if (selection.kind === "device") return toolset.version(principal, selection.device);
    return this.#showsDevices() ? toolset.version(principal) : "none";
  }
}

const none: readonly ExposedTool[] = [];
const compactNames = compactDefinitions.map(({ name }) => name);
const taskTools = new Set(
  compactDefinitions.filter(({ execution }) => execution !== undefined).map(({ name }) => name),
);

function listed(tool: ExposedTool, bare: boolean): Tool {
  return {
    name: bare ? tool.bareName : tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.inputSchema as Tool["inputSchema"],
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema as JsonObject }),
    annotations: tool.annotations,
    ...(tool.tool === photoTool ? { execution: optionalTask } : {}),
    _meta: tool.meta,
  };
}
