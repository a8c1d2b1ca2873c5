package org.example;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.Schema;
import org.apache.avro.file.CodecFactory;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.reflect.ReflectData;
import org.apache.avro.reflect.ReflectDatumWriter;

/**
 * Writes records of classes within a class, whose namespace Avro up to 1.8 has as
 * "org.example.InnerClasses$": reflection names a record so.
 */
public class InnerClasses {
    /** A kind of event. */
    public enum Kind { CREATE, CLOSE }

    /** Where an event happened. */
    public static class Place {
        String path;
        int depth;
    }

    /** An event. */
    public static class Event {
        long id;
        Kind kind;
        Place place;
        double[] sizes;
    }

    /** A record of a class in a class in a class. */
    public static class Outer {
        /** Inside. */
        public static class Inner {
            int n;
        }
    }

    public static void main(String[] arguments) throws IOException {
        File folder = new File(arguments[0]);
        try (PrintStream rows = rows(folder, "inner_class");
                DataFileWriter<Event> writer = writer(folder, "inner_class", Event.class)) {
            for (int i = 0; i < 20; i++) {
                Event event = new Event();
                event.id = 1_000_000_007L * i - 5;
                event.kind = Kind.values()[i % 2];
                event.place = new Place();
                event.place.path = "/data/größe " + i;
                event.place.depth = i % 7;
                event.sizes = new double[i % 4];
                StringBuilder sizes = new StringBuilder();
                for (int j = 0; j < event.sizes.length; j++) {
                    event.sizes[j] = i + j / 8.0;
                    sizes.append(j > 0 ? "," : "").append(event.sizes[j]);
                }
                writer.append(event);
                rows.printf("{\"id\":%d,\"kind\":\"%s\",\"place\":{\"path\":\"%s\",\"depth\":%d},\"sizes\":[%s]}%n",
                        event.id, event.kind, event.place.path, event.place.depth, sizes);
                if (i % 8 == 7) {
                    writer.sync();
                }
            }
        }
        try (PrintStream rows = rows(folder, "inner_inner_class");
                DataFileWriter<Outer.Inner> writer = writer(folder, "inner_inner_class", Outer.Inner.class)) {
            for (int i = 0; i < 3; i++) {
                Outer.Inner inner = new Outer.Inner();
                inner.n = i * i - 1;
                writer.append(inner);
                rows.printf("{\"n\":%d}%n", inner.n);
            }
        }
    }

    private static <T> DataFileWriter<T> writer(File folder, String name, Class<T> type) throws IOException {
        Schema schema = ReflectData.get().getSchema(type);
        DataFileWriter<T> writer = new DataFileWriter<T>(new ReflectDatumWriter<T>(schema));
        writer.setCodec(CodecFactory.deflateCodec(6));
        // The same bytes each time: the marker is random otherwise.
        writer.create(schema, new java.io.FileOutputStream(new File(folder, name + ".avro")), new byte[16]);
        return writer;
    }

    private static PrintStream rows(File folder, String name) throws IOException {
        return new PrintStream(new File(folder, "rows/" + name + ".jsonl"), StandardCharsets.UTF_8.name());
    }
}
