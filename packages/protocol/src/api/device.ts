import Type, { type Static } from "typebox";
import { aliasPattern } from "../tools/names.ts";
import { type DeviceOrder, deviceSortKeys } from "./choices.ts";
import { Tags } from "./provisioning.ts";

const Time = Type.String({ format: "date-time", description: "ISO 8601, UTC" });
const OrNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

const Disconnect = Type.Object({
  at: Time,
  reason: Type.String({ description: "Why the last connection ended, as text" }),
});

const Vitals = Type.Object({
  at: Time,
  battery: OrNull(Type.Object({ level: Type.Number(), charging: Type.Boolean() })),
  signal: OrNull(Type.String({ description: "As the device reports it, such as strong" })),
});

const deviceFields = {
  id: Type.String({ description: "The device's id, a MAC address for boards" }),
  alias: Type.String({ description: "The short, unique name for people and agents" }),
  name: Type.String({ description: "The board's name and the end of its id, for display" }),
  kind: Type.String({
    description:
      "esp32, process for a program, http for an MCP server over HTTP, or endpoint for a tool provider that connects to the gateway",
  }),
  transport: OrNull(
    Type.String({ description: "websocket, mqtt, stdio, http or endpoint; the last one while offline" }),
  ),
  online: Type.Boolean(),
  approval: Type.Enum(["approved", "revoked", "none"], {
    description: "none: it has no credentials, but the admission policy accepts it",
  }),
  mcp: Type.Boolean({ description: "Whether the device offers tools at all" }),
  lastSeenAt: OrNull(Time),
  connectedAt: OrNull(Time),
  board: OrNull(Type.String()),
  firmware: OrNull(Type.String()),
  protocolVersion: OrNull(Type.String({ description: "The MCP version that the device reported" })),
  toolCount: Type.Integer({ minimum: 0 }),
  toolsComplete: Type.Boolean({
    description: "False while the tools are being listed, or if the list is incomplete",
  }),
  toolsTruncated: Type.Optional(
    Type.Boolean({ description: "True if the device lists more tools than the gateway keeps" }),
  ),
  tags: Type.Array(Type.String()),
  vitals: OrNull(Vitals),
  waitingCalls: Type.Integer({ minimum: 0, description: "Queued calls that wait until it is online" }),
  node: Type.String({ description: "The node that has or last had the connection" }),
};

export const Device = Type.Object(deviceFields, { $id: "Device" });
export type Device = Static<typeof Device>;

export const DeviceDetail = Type.Object(
  {
    ...deviceFields,
    sessionId: OrNull(
      Type.String({
        description:
          "The current session, for `session_id` of device_control; null while offline. Over MQTT it changes with every audio session",
      }),
    ),
    status: OrNull(
      Type.Object({
        at: Time,
        value: Type.Record(Type.String(), Type.Unknown()),
      }),
    ),
    lastDisconnect: OrNull(Disconnect),
    transportSetting: OrNull(Type.String({ description: "The transport that is set for this device" })),
    toolsProblem: OrNull(Type.String({ description: "Why the tool list is not complete" })),
    server: Type.Optional(
      Type.Object(
        {
          origin: Type.String({
            description: "Scheme, host and port; the rest of the address may be secret",
          }),
          configured: Type.Boolean({ description: "Whether it comes from tendon.yaml" }),
          problem: OrNull(Type.String({ description: "Why the server cannot be used now" })),
        },
        { description: "For an MCP server over HTTP" },
      ),
    ),
    queuedCalls: Type.Integer({ minimum: 0 }),
    droppedAudioFrames: Type.Integer({ minimum: 0 }),
  },
  { $id: "DeviceDetail" },
);
export type DeviceDetail = Static<typeof DeviceDetail>;

export const DeviceList = Type.Object({
  devices: Type.Array(Device),
  nextCursor: Type.Optional(Type.String()),
  total: Type.Optional(
    Type.Integer({ description: "Number of matching devices on all pages; only on the first page" }),
  ),
  online: Type.Optional(
    Type.Integer({ description: "How many of all matching devices are connected; only on the first page" }),
  ),
});
export type DeviceList = Static<typeof DeviceList>;

export const DeviceQuery = Type.Object({
  online: Type.Optional(Type.Boolean()),
  tag: Type.Optional(Type.String({ maxLength: 64 })),
  q: Type.Optional(
    Type.String({ maxLength: 128, description: "Searched in id, alias, name, board and tags" }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "100 by default" })),
  sort: Type.Optional(
    Type.Enum([...deviceSortKeys, ...deviceSortKeys.map((key): DeviceOrder => `-${key}`)], {
      description:
        "By id if it is missing. `-` before a name sorts in descending order; devices without a value are last in both",
    }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 512 })),
});
export type DeviceQuery = Static<typeof DeviceQuery>;

export const DeviceChange = Type.Object(
  {
    alias: Type.Optional(Type.String({ pattern: aliasPattern })),
    tags: Type.Optional(Tags),
    transport: Type.Optional(
      OrNull(
        Type.Enum(["mqtt", "websocket"], {
          description: "The transport from its next start on; null for the gateway's setting",
        }),
      ),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type DeviceChange = Static<typeof DeviceChange>;

const Schema = Type.Record(Type.String(), Type.Unknown());

const toolChange = {
  what: Type.Array(Type.Enum(["description", "inputSchema", "outputSchema", "audience"]), {
    description: "What has changed since the tool was first seen or last accepted",
  }),
  since: Time,
  quarantined: Type.Boolean({
    description: "Whether calls are blocked until an operator accepts the change",
  }),
};

export const Tool = Type.Object(
  {
    name: Type.String({ description: "The tool's name on the device" }),
    agentName: Type.String({ description: "The name agents see" }),
    description: Type.String(),
    inputSchema: Schema,
    outputSchema: Type.Optional(Schema),
    annotations: Type.Object(
      {
        readOnlyHint: Type.Boolean(),
        destructiveHint: Type.Boolean(),
        idempotentHint: Type.Boolean(),
        openWorldHint: Type.Boolean(),
      },
      { description: "What a call may do, by the gateway's own rules and the device's warnings" },
    ),
    audience: Type.Enum(["agent", "user"]),
    access: Type.Enum(["allowed", "confirm", "denied"], {
      description: "The best outcome that a call with your token can have, with suitable arguments",
    }),
    argumentsDecide: Type.Optional(
      Type.Boolean({ description: "Whether other arguments may require approval or be denied" }),
    ),
    changed: Type.Optional(Type.Object(toolChange)),
    repairs: Type.Optional(
      Type.Array(Type.String(), { description: "What was repaired in the device's schema" }),
    ),
  },
  { $id: "Tool" },
);
export type Tool = Static<typeof Tool>;

const KnownTool = Type.Object({
  digest: Type.String({ description: "Digest of everything that an operator reviews" }),
  description: Type.String(),
  inputSchema: Schema,
  audience: Type.Enum(["agent", "user"]),
});

export const ToolChanges = Type.Object({
  changes: Type.Array(
    Type.Object({ tool: Type.String(), ...toolChange, before: KnownTool, after: KnownTool }),
  ),
});
export type ToolChanges = Static<typeof ToolChanges>;

export const ToolAcceptance = Type.Object(
  { digest: Type.String({ minLength: 1, maxLength: 64, description: "`after.digest` of the change" }) },
  { additionalProperties: false },
);

export const ToolList = Type.Object({
  tools: Type.Array(Tool),
  complete: Type.Boolean(),
  problem: Type.Optional(Type.String()),
  setAside: Type.Optional(Type.Array(Type.Object({ name: Type.String(), reason: Type.String() }))),
});
export type ToolList = Static<typeof ToolList>;

export const ToolsQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: 128,
    description:
      "Words that occur in the tool's name or the device's alias, at least one of them in the tool's name",
  }),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: "8 by default" })),
});
export type ToolsQuery = Static<typeof ToolsQuery>;

export const NamedTool = Type.Object({
  device: Type.String(),
  alias: Type.String(),
  tool: Type.String({ description: "The tool's name on the device" }),
  audience: Type.Enum(["agent", "user"]),
  online: Type.Boolean(),
});
export type NamedTool = Static<typeof NamedTool>;

export const NamedTools = Type.Object({ tools: Type.Array(NamedTool) });
export type NamedTools = Static<typeof NamedTools>;
