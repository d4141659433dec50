import Type from "typebox";

const strict = { additionalProperties: false };

const Entity = Type.Object(
  {
    tool: Type.String({ minLength: 1, maxLength: 200, description: "The name of the tool" }),
    hidden: Type.Optional(Type.Boolean({ description: "No entity for this tool" })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "The name of the entity" })),
    icon: Type.Optional(Type.String({ pattern: "^[a-z]+:[a-z0-9-]+$", description: "Such as `mdi:lamp`" })),
    unit: Type.Optional(Type.String({ minLength: 1, maxLength: 20, description: "The unit of measurement" })),
    deviceClass: Type.Optional(
      Type.String({ pattern: "^[a-z_0-9]+$", description: "Home Assistant's device class" }),
    ),
    enabledByDefault: Type.Optional(
      Type.Boolean({ description: "Whether Home Assistant enables the entity when it finds it" }),
    ),
    min: Type.Optional(Type.Number({ description: "The smallest value of a number" })),
    max: Type.Optional(Type.Number({ description: "The largest value of a number" })),
    options: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        maxItems: 100,
        description: "The options of a select",
      }),
    ),
  },
  strict,
);

export const HomeAssistantSchema = Type.Object(
  {
    broker: Type.String({
      pattern: "^mqtts?://[^/]+",
      description: "The broker of Home Assistant: `mqtt://user:password@host:1883`, or `mqtts://…`",
      page: "guides/home-assistant.md",
    }),
    passwordFile: Type.Optional(
      Type.String({ minLength: 1, description: "A file with the password, instead of the one in `broker`" }),
    ),
    discoveryPrefix: Type.Optional(
      Type.String({
        pattern: "^[^/+#]+(/[^/+#]+)*$",
        default: "homeassistant",
        description: "The discovery prefix in the settings of Home Assistant's MQTT integration",
      }),
    ),
    token: Type.String({
      minLength: 1,
      maxLength: 100,
      description: "The name of the token whose permissions Home Assistant has",
    }),
    devices: Type.Optional(
      Type.Object(
        {
          ids: Type.Optional(
            Type.Array(Type.String({ minLength: 1 }), { description: "Ids or aliases of devices" }),
          ),
          tags: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: "Tags of devices" })),
        },
        { ...strict, description: "The devices to show; without it all that the token sees" },
      ),
    ),
    whenOffline: Type.Optional(
      Type.Enum(["unavailable", "queue"], {
        default: "unavailable",
        description:
          "`unavailable`: entities of a device that is away are unavailable. `queue`: they stay available, and commands wait for the device",
      }),
    ),
    entities: Type.Optional(
      Type.Array(Entity, {
        maxItems: 1_000,
        default: [],
        description: "Changes of single entities, by tool",
      }),
    ),
  },
  strict,
);
