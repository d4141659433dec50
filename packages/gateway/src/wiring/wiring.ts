/**
 * Parts of the composition root that would crowd it: each builds one corner out of several rooms and hands back what
 * the rest needs of it. Like gateway.ts they may enter every room, and no room may enter them.
 */
export { openCertificate } from "./certificate.ts";
export { openConsole } from "./console-link.ts";
export { eventJournal } from "./event-journal.ts";
export { openFirmware } from "./firmware-link.ts";
export { listen, portOf, serveCertificate } from "./listening.ts";
export { type MqttCarrier, startMqtt } from "./mqtt-carrier.ts";
export { startProcesses } from "./process-devices.ts";
export { openProvisioning } from "./provisioning-link.ts";
export { openVision } from "./vision-link.ts";
export { openVoice } from "./voice-link.ts";
