/**
 * Every setting there is: its type, its default and what it does. docs/reference/configuration.md is made from this: `unset`
 * says what holds where a setting has no default, `page` where there is more to read.
 */
import { ActionMap, aliasPattern, limits, originPattern } from "@tendon/protocol";
import Type, { type Static } from "typebox";
import { AccessSettings, RateSettings } from "../access-settings.ts";
import { VoiceSchema } from "./voice.ts";

const strict = { additionalProperties: false };
const Port = Type.Integer({ minimum: 0, maximum: 65535 });

const StdioDevice = Type.Object(
  {
    alias: Type.String({ pattern: aliasPattern, description: "Its id and its alias" }),
    command: Type.String({ minLength: 1, description: "The program" }),
    args: Type.Optional(Type.Array(Type.String(), { description: "What it is called with" })),
    env: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Beside PATH, HOME and LANG, which it inherits, and nothing else",
      }),
    ),
    cwd: Type.Optional(Type.String({ minLength: 1, description: "The folder it runs in" })),
    protocol: Type.Optional(
      Type.Enum(["lines", "mcp"], {
        description:
          "`lines` (default): one JSON message a line, beginning with `ready`; `mcp`: a standard MCP server",
      }),
    ),
    restart: Type.Optional(
      Type.Enum(["always", "on-failure", "never"], {
        description: "What happens when it ends by itself; `always` by default",
      }),
    ),
  },
  strict,
);

export const ConfigSchema = Type.Object(
  {
    http: Type.Object(
      {
        host: Type.String({
          minLength: 1,
          default: "127.0.0.1",
          description: "Address to listen on; `0.0.0.0` lets boards on the network in",
        }),
        port: Type.Integer({
          ...Port,
          default: 8000,
          description: "Port of everything but MQTT; 0 picks a free one",
        }),
        publicUrl: Type.Optional(
          Type.String({
            pattern: "^https?://[^/]+",
            description:
              "How devices and people reach this gateway, where that is not the address it listens on",
            unset: "the address itself, or that of this machine on its network",
          }),
        ),
        trustProxy: Type.Boolean({
          default: false,
          description:
            "Believe `X-Forwarded-*` of one proxy in front: callers count by the address it has added",
        }),
        allowedOrigins: Type.Array(Type.String({ pattern: originPattern, maxLength: 256 }), {
          default: [],
          maxItems: limits.allowedOrigins.max,
          description:
            "Origins of web pages elsewhere that may use `/mcp` and the REST API with a token, such as `https://agent.example`; never with the console's cookie",
          page: "guides/agents.md",
        }),
      },
      strict,
    ),
    mqtt: Type.Object(
      {
        port: Type.Integer({
          ...Port,
          default: 1883,
          description: "The embedded MQTT broker, on `http.host`; 0 picks a free port",
          page: "reference/mqtt.md",
        }),
        tlsPort: Type.Optional(
          Type.Integer({
            ...Port,
            description: "MQTT over TLS; the firmware does TLS on 8883 only",
            unset: "8883 where there is a certificate",
          }),
        ),
        broker: Type.Optional(
          Type.String({
            pattern: "^mqtts?://[^/]+",
            description: "An outside broker instead of the embedded one: `mqtts://user:password@host:8883`",
            page: "reference/mqtt.md",
          }),
        ),
        publicEndpoint: Type.Optional(
          Type.String({
            pattern: "^[^:/]+(:\\d+)?$",
            description: "`host` or `host:port` that devices are given",
            unset: "the host of `http.publicUrl`, or the address itself",
          }),
        ),
      },
      strict,
    ),
    tls: Type.Object(
      {
        cert: Type.Optional(
          Type.String({
            minLength: 1,
            description:
              "Certificate chain, a PEM file: the port speaks TLS, MQTT too on its own; looked at again while running",
            page: "operations/tls.md",
          }),
        ),
        key: Type.Optional(Type.String({ minLength: 1, description: "Private key, a PEM file" })),
      },
      strict,
    ),
    data: Type.String({
      minLength: 1,
      default: "./data",
      description: "Folder for what must survive a restart",
    }),
    cluster: Type.Optional(
      Type.String({
        pattern: "^(nats|tls)://[^/]+",
        description:
          "`nats://user:password@host:4222/name` (or `tls://…`) makes this gateway one node of several on one PostgreSQL; the name, `tendon` by default, keeps two fleets on one server apart; `?replicas=3` has three servers of a NATS cluster keep each thing",
      }),
    ),
    storage: Type.String({
      pattern: "^(sqlite:|postgres(ql)?://.+)$",
      default: "sqlite:",
      description:
        "`sqlite:` is a file in the data folder; or `postgres://user:password@host/database`, which is waited for at the start, for 30 s",
    }),
    devices: Type.Object(
      {
        admission: Type.Enum(["approve", "list", "open", "closed"], {
          default: "approve",
          description:
            "Who may connect beside devices that have credentials. `approve`: whoever a person approves; `list`: imported devices; `open`: anybody; `closed`: nobody new",
          page: "operations/provisioning.md",
        }),
        transport: Type.Enum(["mqtt", "websocket"], {
          default: "mqtt",
          description: "What a board that asks the OTA address is told to use",
        }),
        stdio: Type.Array(StdioDevice, {
          default: [],
          maxItems: limits.processes.max,
          description:
            "Programs that are devices: started, watched and ended with the gateway. From the file only",
          page: "guides/processes.md",
        }),
        capabilities: Type.Record(Type.String(), Type.Unknown(), {
          default: {},
          description:
            "Merged into the capabilities of every `initialize`, e.g. `vision: {url: …, token: …}` for a vision server of your own",
        }),
      },
      strict,
    ),
    calls: Type.Object(
      {
        timeoutMs: Type.Integer({
          minimum: 1,
          maximum: limits.callTimeoutMs.max,
          default: 30_000,
          description: "How long a call waits, in ms, when its caller does not say; photos get 75 s",
        }),
        queue: Type.Integer({
          minimum: 1,
          maximum: 1_000,
          default: limits.queuedCallsPerDevice.max,
          description: "How many calls may wait for one device",
        }),
        keepArguments: Type.Boolean({
          default: false,
          description:
            "Keep the arguments of calls in the history, up to 16 KiB each; otherwise only their digest is kept",
        }),
        keepDays: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 90,
          description: "How long a call stays in the history",
        }),
        keepCount: Type.Integer({
          minimum: 0,
          maximum: 1_000_000_000,
          default: 1_000_000,
          description: "How many calls the history has at most; the oldest go first, a few at a time",
        }),
      },
      strict,
    ),
    access: AccessSettings,
    agents: Type.Object(
      {
        toolBudget: Type.Integer({
          minimum: 7,
          maximum: 1_000,
          default: 40,
          description:
            "How many tools `/mcp` lists, the seven compact ones among them; beyond it device tools are found by search",
          page: "guides/search.md",
        }),
        offlineGraceMs: Type.Integer({
          minimum: 0,
          maximum: 2_000_000_000,
          default: 900_000,
          description: "How long the tools of a device that has left stay in lists, in ms",
        }),
      },
      strict,
    ),
    limits: RateSettings,
    control: Type.Object(
      {
        actions: Type.Unsafe<ActionMap>({
          ...ActionMap,
          default: {},
          description: "More actions of device_control, or other ones under the same names",
          page: "reference/device-control.md",
        }),
      },
      strict,
    ),
    vision: Type.Object(
      {
        provider: Type.Optional(
          Type.Object(
            {
              url: Type.String({
                pattern: "^https?://",
                description: "Any OpenAI-compatible address that explains pictures",
                page: "guides/vision.md",
              }),
              model: Type.String({ minLength: 1, description: "The model to ask for" }),
              apiKey: Type.Optional(
                Type.String({
                  minLength: 1,
                  description: "Its key; best from `TENDON_VISION_PROVIDER_API_KEY`",
                }),
              ),
            },
            strict,
          ),
        ),
        keepMs: Type.Integer({
          minimum: 1_000,
          default: 3_600_000,
          description: "How long a picture is kept, in ms",
        }),
        keepBytes: Type.Integer({
          minimum: 4_194_304,
          default: 268_435_456,
          description: "How much all pictures together may take, in bytes",
        }),
        keepCount: Type.Integer({ minimum: 1, default: 1_000, description: "How many pictures are kept" }),
      },
      strict,
    ),
    voice: VoiceSchema,
    firmware: Type.Object(
      {
        comeBackMs: Type.Integer({
          minimum: 1_000,
          default: 600_000,
          description: "How long a board that has fetched an image may take to come back with it, in ms",
          page: "guides/firmware-updates.md",
        }),
        haltFailures: Type.Integer({
          minimum: 1,
          default: 3,
          description: "An image is halted when so many boards have not come back with it …",
        }),
        haltPercent: Type.Integer({
          minimum: 0,
          maximum: 100,
          default: 10,
          description: "… and they are this many of a hundred of those whose end is known",
        }),
      },
      strict,
    ),
    log: Type.Object(
      {
        level: Type.Enum(["trace", "debug", "info", "warn", "error", "silent"], {
          default: "info",
          description: "What is logged, to stderr; `warn` is the default of `tendon serve` on a terminal",
        }),
      },
      strict,
    ),
  },
  strict,
);
export type Config = Static<typeof ConfigSchema>;
