/** [MCP-16] The firmware answers it only when the upgrade failed: a successful one restarts the device first. */
export const upgradeTool = "self.upgrade_firmware";

/**
 * [MCP-13] Tools that make the device leave instead of answering: it restarts, or drops its connection ahead of the
 * reply. When it leaves after one of these, the call counts as done, unless that still has to show [MCP-16].
 */
const farewellTools: ReadonlySet<string> = new Set([
  "self.reboot",
  upgradeTool,
  "self.system.reconfigure_wifi",
  "self.system.switch_TFT",
  "self.system.set_aec",
  "self.AEC.set_mode",
  "self.res.esp_restart",
]);

export function leavesInsteadOfAnswering(tool: string): boolean {
  return farewellTools.has(tool);
}
