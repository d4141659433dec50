/** The parts of the simulator that the home commands use. */
export {
  HomeCallError,
  type HomeNotice,
  type HomeServer,
  HomeSettingsError,
  HomeStateError,
  type OpenedHome,
  openHome,
  type SettingsProblem,
  serveHome,
  standardInput,
  ToolsFileError,
} from "@tendon/simulator/home";
