/**
 * [MCP-13] Tools that make the device leave instead of answering: it restarts, or drops its connection ahead of the
 * reply. When it leaves after one of these, the call counts as done.
 */
const farewellTools: ReadonlySet<string> = new Set([
  "self.reboot",
  "self.upgrade_firmware",
  "self.system.reconfigure_wifi",
  "self.system.switch_TFT",
  "self.system.set_aec",
  "self.AEC.set_mode",
  "self.res.esp_restart",
]);

export function leavesInsteadOfAnswering(tool: string): boolean {
  return farewellTools.has(tool);
}
