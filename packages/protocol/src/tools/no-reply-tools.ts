/** [MCP-16] The firmware answers only if the upgrade failed: a successful upgrade restarts the device first. */
export const upgradeTool = "self.upgrade_firmware";

/**
 * [MCP-13] Tools that end the connection instead of answering: the device restarts or disconnects before the reply. A
 * disconnection after such a call means success, except for an upgrade, whose result is checked later [MCP-16].
 */
const noReplyTools: ReadonlySet<string> = new Set([
  "self.reboot",
  upgradeTool,
  "self.system.reconfigure_wifi",
  "self.system.switch_TFT",
  "self.system.set_aec",
  "self.AEC.set_mode",
  "self.res.esp_restart",
]);

export function leavesInsteadOfAnswering(tool: string): boolean {
  return noReplyTools.has(tool);
}
