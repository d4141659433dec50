/**
 * Every setting, with its type, its default and its description. docs/reference/configuration.md is generated from it.
 * `unset` says what applies without a default, and `page` names the page with more information.
 */
import { ActionMap, aliasPattern, limits, originPattern } from "@tendon/protocol";
import Type, { type Static } from "typebox";
import { AccessSettings, RateSettings } from "../access-settings.ts";
import { EndpointSettings, OutgoingEndpoints } from "../endpoint-settings.ts";
import { HomeAssistantSchema } from "./home-assistant.ts";
import { HttpDeviceSchema } from "./http-device.ts";
import { VoiceSchema } from "./voice.ts";

const strict = { additionalProperties: false };
const Port = Type.Integer({ minimum: 0, maximum: 65535 });

const StdioDevice = Type.Object(
  {
    alias: Type.String({ pattern: aliasPattern, description: "The id and the alias of the device" }),
    command: Type.String({ minLength: 1, description: "The program" }),
    args: Type.Optional(Type.Array(Type.String(), { description: "The arguments of the program" })),
    env: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          "Environment variables in addition to PATH, HOME and LANG; the program inherits nothing else",
      }),
    ),
    cwd: Type.Optional(Type.String({ minLength: 1, description: "The working directory" })),
    protocol: Type.Optional(
      Type.Enum(["lines", "mcp"], {
        description:
          "`lines` (default): one JSON message per line, starting with `ready`; `mcp`: a standard MCP server",
      }),
    ),
    restart: Type.Optional(
      Type.Enum(["always", "on-failure", "never"], {
        description: "When to restart a program that exits; `always` by default",
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
          description: "Address to listen on; `0.0.0.0` accepts connections from the network",
        }),
        port: Type.Integer({
          ...Port,
          default: 8000,
          description: "Port for everything except MQTT; 0 selects a free port",
        }),
        publicUrl: Type.Optional(
          Type.String({
            pattern: "^https?://[^/]+",
            description:
              "The address at which devices and people reach this gateway, if it differs from the address it listens on",
            unset: "the listening address, or that of this machine on its network",
          }),
        ),
        trustProxy: Type.Boolean({
          default: false,
          description:
            "Trust the `X-Forwarded-*` headers of one proxy: rate limits use the address that it adds",
        }),
        allowedOrigins: Type.Array(Type.String({ pattern: originPattern, maxLength: 256 }), {
          default: [],
          maxItems: limits.allowedOrigins.max,
          description:
            "Origins of other web pages that may use `/mcp` and the REST API with a token, such as `https://agent.example`; never with the console's cookie",
          page: "guides/agents.md",
        }),
      },
      strict,
    ),
    mqtt: Type.Object(
      {
        port: Type.Union([Port, Type.Literal("off")], {
          default: 1883,
          description:
            "Port of the embedded MQTT broker without TLS, on `http.host`; 0 selects a free port. `off`, with a certificate: MQTT with TLS only",
          page: "reference/mqtt.md",
        }),
        tlsPort: Type.Optional(
          Type.Integer({
            ...Port,
            description: "Port for MQTT over TLS; the firmware uses TLS on 8883 only",
            unset: "8883 if there is a certificate",
          }),
        ),
        broker: Type.Optional(
          Type.String({
            pattern: "^mqtts?://[^/]+",
            description: "An external broker instead of the embedded one: `mqtts://user:password@host:8883`",
            page: "reference/mqtt.md",
          }),
        ),
        publicEndpoint: Type.Optional(
          Type.String({
            pattern: "^[^:/]+(:\\d+)?$",
            description: "`host` or `host:port` in the settings of devices",
            unset: "the host of `http.publicUrl`, or the listening address",
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
              "Certificate chain, a PEM file. With it the HTTP port uses TLS, and MQTT over TLS has its own port; Tendon reloads a changed file",
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
          "`nats://user:password@host:4222/name` (or `tls://…`) makes this gateway one node of a cluster with a shared PostgreSQL. Several servers of a NATS cluster are separated by commas: `nats://user:password@one:4222,two:4222,three:4222`. The name (default `tendon`) separates fleets on one NATS server; with `?replicas=3`, three servers store the data",
      }),
    ),
    node: Type.Optional(
      Type.String({
        pattern: "^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$",
        description: "The name of this node, for people: in `tendon nodes`, in lists of devices and in logs",
        unset: "the host name of the machine",
        page: "operations/operate.md",
      }),
    ),
    drain: Type.Object(
      {
        readyDelayMs: Type.Integer({
          minimum: 0,
          maximum: 600_000,
          default: 2_000,
          description:
            "Time in ms between `SIGTERM` and the first disconnected device: `/readyz` answers 503, and the node serves everything until load balancers have noticed. Only if other nodes can take the devices",
          page: "operations/operate.md",
        }),
        timeoutMs: Type.Integer({
          minimum: 5_000,
          maximum: 3_600_000,
          default: 20_000,
          description:
            "Time in ms after that for devices to move to other nodes and for running calls to end; then the node exits. A single gateway exits within 5 s",
          page: "operations/operate.md",
        }),
        balance: Type.Boolean({
          default: false,
          description:
            "Even out the devices of the nodes of a cluster without being asked: a minute after a node has joined or left, nodes with more than their share send boards away gently. `tendon nodes balance` does it once",
          page: "operations/operate.md",
        }),
      },
      strict,
    ),
    storage: Type.String({
      pattern: "^(sqlite:|postgres(ql)?://.+)$",
      default: "sqlite:",
      description:
        "`sqlite:` is a file in the data folder; or `postgres://user:password@host/database`, for which a start waits up to 30 s",
    }),
    devices: Type.Object(
      {
        admission: Type.Enum(["approve", "list", "open", "closed"], {
          default: "approve",
          description:
            "The policy for devices without credentials. `approve`: a person approves each; `list`: imported devices only; `open`: all devices; `closed`: none",
          page: "operations/provisioning.md",
        }),
        transport: Type.Enum(["mqtt", "websocket"], {
          default: "mqtt",
          description: "The transport in the settings of boards",
        }),
        stdio: Type.Array(StdioDevice, {
          default: [],
          maxItems: limits.processes.max,
          description: "Programs as devices: the gateway starts, restarts and ends them. In the file only",
          page: "guides/processes.md",
        }),
        http: Type.Array(HttpDeviceSchema, {
          default: [],
          maxItems: limits.httpDevices.max,
          description: "MCP servers over Streamable HTTP as devices, of either era. In the file only",
          page: "guides/http-devices.md",
        }),
        capabilities: Type.Record(Type.String(), Type.Unknown(), {
          default: {},
          description:
            "Merged into the capabilities of every `initialize`, e.g. `vision: {url: …, token: …}` for your own vision server",
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
          description: "Default deadline of a call, in ms; photos have 75 s",
        }),
        queue: Type.Integer({
          minimum: 1,
          maximum: 1_000,
          default: limits.queuedCallsPerDevice.max,
          description: "Maximum number of calls that wait for one device",
        }),
        keepArguments: Type.Boolean({
          default: false,
          description:
            "Store the arguments of calls in the history, up to 16 KiB each; otherwise only their digest",
        }),
        keepDays: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 90,
          description: "Days that a call stays in the history",
        }),
        keepCount: Type.Integer({
          minimum: 0,
          maximum: 1_000_000_000,
          default: 1_000_000,
          description: "Maximum number of calls in the history; the oldest are deleted first",
        }),
      },
      strict,
    ),
    audit: Type.Object(
      {
        keepDays: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 365,
          description: "Days that an entry stays in the audit",
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
            "Maximum number of tools that `/mcp` lists, including the seven compact ones; above it, agents find device tools by search",
          page: "guides/search.md",
        }),
        offlineGraceMs: Type.Integer({
          minimum: 0,
          maximum: 2_000_000_000,
          default: 900_000,
          description: "Time that the tools of an offline device stay in lists, in ms",
        }),
        endpoints: OutgoingEndpoints,
      },
      strict,
    ),
    endpoint: EndpointSettings,
    limits: RateSettings,
    control: Type.Object(
      {
        actions: Type.Unsafe<ActionMap>({
          ...ActionMap,
          default: {},
          description: "Additional actions of device_control, or replacements of existing ones",
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
                description: "OpenAI-compatible address of the vision provider",
                page: "guides/vision.md",
              }),
              model: Type.String({ minLength: 1, description: "The name of the model" }),
              apiKey: Type.Optional(
                Type.String({
                  minLength: 1,
                  description: "The API key; preferably from `TENDON_VISION_PROVIDER_API_KEY`",
                }),
              ),
            },
            strict,
          ),
        ),
        keepMs: Type.Integer({
          minimum: 1_000,
          default: 3_600_000,
          description: "Time that a photo is kept, in ms",
        }),
        keepBytes: Type.Integer({
          minimum: 4_194_304,
          default: 268_435_456,
          description: "Maximum size of all photos together, in bytes",
        }),
        keepCount: Type.Integer({ minimum: 1, default: 1_000, description: "Maximum number of photos" }),
      },
      strict,
    ),
    voice: VoiceSchema,
    firmware: Type.Object(
      {
        comeBackMs: Type.Integer({
          minimum: 1_000,
          default: 600_000,
          description: "Time for a board to come back after it has downloaded an image, in ms",
          page: "guides/firmware-updates.md",
        }),
        haltFailures: Type.Integer({
          minimum: 1,
          default: 3,
          description: "An image is halted when this number of boards has failed …",
        }),
        haltPercent: Type.Integer({
          minimum: 0,
          maximum: 100,
          default: 10,
          description: "… and they are at least this percentage of the boards with a known result",
        }),
      },
      strict,
    ),
    webhooks: Type.Object(
      {
        allowHosts: Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
          default: [],
          maxItems: limits.urlHosts.max,
          description:
            "Hosts that webhooks may reach over http or in a private network: an exact host or IP address, with or without a port, such as `192.168.1.5:1880`",
          page: "guides/webhooks.md",
        }),
        maxPending: Type.Integer({
          minimum: 2,
          maximum: 10_000_000,
          default: 100_000,
          description:
            "Maximum number of events that wait for one webhook; beyond it the oldest are dropped and the receiver gets `webhook.gap`",
        }),
      },
      strict,
    ),
    homeAssistant: Type.Optional(HomeAssistantSchema),
    log: Type.Object(
      {
        level: Type.Enum(["trace", "debug", "info", "warn", "error", "silent"], {
          default: "info",
          description: "Level of the log on stderr; `warn` is the default of `tendon serve` on a terminal",
        }),
      },
      strict,
    ),
  },
  strict,
);
export type Config = Static<typeof ConfigSchema>;
