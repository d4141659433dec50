/**
 * Parts of the composition root that would crowd it: each builds one corner out of several rooms and hands back what
 * the rest needs of it. Like gateway.ts they may enter every room, and no room may enter them.
 */
export { deviceSettings } from "./device-settings.ts";
export { openFirmware } from "./firmware-link.ts";
export { forwardStrays } from "./forwarding-link.ts";
export { type FoundationOptions, layFoundation, type Started } from "./foundation.ts";
export { openDoors } from "./http-doors.ts";
export { listen, portOf, serveCertificate } from "./listening.ts";
export { startMqtt } from "./mqtt-carrier.ts";
export { startProcesses } from "./process-devices.ts";
export { openProvisioning } from "./provisioning-link.ts";
export { sendAway, within } from "./sending-away.ts";
export { openServices } from "./services.ts";
export { refuseUnusable, startProblems } from "./start-checks.ts";
export { openVision } from "./vision-link.ts";
export { openVoice } from "./voice-link.ts";
