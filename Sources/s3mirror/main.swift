// The program; all it does is elsewhere, since what is formed here is bound to the main thread.
import MirrorDaemon
import MirrorPlatform

ThisProcess.fillStandardStreams()
ThisProcess.endAtOnce(CommandLineTool.run().rawValue)
