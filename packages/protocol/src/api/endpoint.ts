import Type, { type Static } from "typebox";

const Time = Type.String({ format: "date-time" });
const OrNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

const endpointStates = ["waiting_for_token", "connecting", "connected", "retrying", "replaced"] as const;

const EndpointView = Type.Object(
  {
    id: Type.String({ description: "Identifies the address without showing it" }),
    host: Type.String({ description: "The host of the address" }),
    token: Type.String({ description: "The name of the token whose principal makes the calls" }),
    view: Type.String({ description: "compact, flat, or device:ALIAS" }),
    state: Type.Enum([...endpointStates], {
      description:
        "waiting_for_token: no valid token has the name · retrying: the connection ended, see `lastError` · replaced: another program uses the same address",
    }),
    since: Time,
    detail: OrNull(Type.String({ description: "What the state means, and what to do" })),
    lastError: OrNull(Type.Object({ at: Time, message: Type.String() })),
    nextAttemptAt: OrNull(Time),
    agent: OrNull(Type.String({ description: "The agent in the address's token, if it is a JWT" })),
    expiresAt: OrNull(Type.String({ format: "date-time", description: "When that JWT expires" })),
    expiresSoon: Type.Boolean({ description: "It expires within 30 days, or has expired" }),
    tools: OrNull(Type.Integer({ description: "Tools in the agent's last list; null if it has not listed" })),
    callsLastHour: Type.Integer(),
    node: Type.String(),
  },
  { $id: "Endpoint" },
);
export type EndpointView = Static<typeof EndpointView>;

const EndpointCaller = Type.Object(
  {
    token: Type.String({ description: "The name of the token" }),
    client: OrNull(Type.String({ description: "The voice server, as it names itself" })),
    connectedAt: Time,
    tools: OrNull(Type.Integer()),
    callsLastHour: Type.Integer(),
    node: Type.String(),
  },
  { $id: "EndpointCaller" },
);

const EndpointProvider = Type.Object(
  {
    token: Type.String(),
    device: Type.String(),
    connectedAt: Time,
    ignoredFrames: Type.Integer({
      description: "Frames of this connection that were not JSON, such as the program's log lines",
    }),
    node: Type.String(),
  },
  { $id: "EndpointProvider" },
);

export const EndpointList = Type.Object({
  endpoints: Type.Array(EndpointView, { description: "The outgoing endpoints of `agents.endpoints`" }),
  incoming: Type.Object({
    enabled: Type.Boolean(),
    callers: Type.Array(EndpointCaller, { description: "Connected voice servers" }),
    providers: Type.Array(EndpointProvider, { description: "Connected tool providers" }),
  }),
});
export type EndpointList = Static<typeof EndpointList>;
