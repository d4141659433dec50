/**
 * Parts of the composition root that would crowd it: each builds one corner out of several rooms and hands back what
 * the rest needs of it. Like gateway.ts they may enter every room, and no room may enter them.
 */
export { openCertificate } from "./certificate.ts";
export { joinCluster } from "./cluster-link.ts";
export { openConsole } from "./console-link.ts";
export { deviceSettings } from "./device-settings.ts";
export { eventJournal } from "./event-journal.ts";
export { openFirmware } from "./firmware-link.ts";
export { forwardStrays, markOf } from "./forwarding-link.ts";
export { listen, portOf, serveCertificate } from "./listening.ts";
export { startMqtt } from "./mqtt-carrier.ts";
export { nodeList } from "./node-list.ts";
export { startProcesses } from "./process-devices.ts";
export { openProvisioning } from "./provisioning-link.ts";
export { unreadyParts } from "./readiness.ts";
export { sendAway, within } from "./sending-away.ts";
export { deviceSecretOf } from "./shared-secret.ts";
export { refuseUnusable, startProblems } from "./start-checks.ts";
export { talksEverywhere } from "./talks-everywhere.ts";
export { openVision } from "./vision-link.ts";
export { openVoice } from "./voice-link.ts";
