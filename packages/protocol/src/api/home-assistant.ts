import Type, { type Static } from "typebox";

const OrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

export const HomeAssistantView = Type.Object({
  state: Type.Enum(["off", "waiting_for_token", "connecting", "connected", "standby"], {
    description:
      "off: not configured · waiting_for_token: no valid token of that name · connecting: no connection to the broker · standby: another gateway publishes on this broker",
  }),
  detail: OrNull("The reason, or the last problem"),
  broker: OrNull("Host and port of the broker"),
  mqttVersion: OrNull("The version of MQTT that is spoken with the broker"),
  devices: Type.Integer({ description: "Devices that are published" }),
  entities: Type.Integer({ description: "Entities of these devices" }),
  seenAt: OrNull(
    "When Home Assistant last said that it is online, or sent a command, since the gateway started",
  ),
});
export type HomeAssistantView = Static<typeof HomeAssistantView>;
